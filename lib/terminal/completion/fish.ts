import { identifier } from './bash.ts';
import type { CommandGrammar, Expected, OptionGrammar } from './grammar.ts';

/** Completion for fish 3.0 and later. */
export function fishCompletion(program: string, grammar: readonly CommandGrammar[]): string {
  const name = `__${identifier(program)}_command`;
  const paths = grammar.filter(({ path }) => path.length > 0).map(({ path }) => `'${path.join(' ')}'`);
  return `# fish completion for ${program}
function ${name}
    set -l command
    for word in (commandline -opc)[2..-1]
        set -l candidate (string join ' ' -- $command $word)
        if contains -- "$candidate" ${paths.join(' ')}
            set command $candidate
        end
    end
    test "$command" = "$argv[1]"
end
complete -c ${program} -f
${grammar.flatMap((command) => linesOf(program, name, command)).join('\n')}
`;
}

function linesOf(program: string, condition: string, { path, options, commands, args }: CommandGrammar): string[] {
  const start = `complete -c ${program} -n ${quoted(`${condition} ${quoted(path.join(' '))}`)}`;
  const place = args.at(-1);
  return [
    ...commands.map(({ name, description }) => `${start} -a ${name} -d ${quoted(description)}`),
    ...options.map((option) => `${start} ${flagsOf(option)} -d ${quoted(option.description)}`),
    ...(place === undefined || place.kind === 'text' ? [] : [`${start} ${expectedWords(place)}`]),
  ];
}

function flagsOf({ flags, value }: OptionGrammar): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  return [...names, ...(value === undefined ? [] : ['-r', expectedWords(value)])]
    .filter((part) => part !== '')
    .join(' ');
}

function expectedWords(expected: Expected): string {
  if (expected.kind === 'choice') return `-a ${quoted(expected.choices.join(' '))}`;
  if (expected.kind === 'folder') return `-a ${quoted('(__fish_complete_directories)')}`;
  return expected.kind === 'file' ? '-F' : '';
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
}
