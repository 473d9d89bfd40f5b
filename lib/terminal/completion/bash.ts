import type { CommandGrammar, Expected } from './grammar.ts';

/** Completion for bash 3.2 and later. It needs bash alone, and evaluates nothing that was typed. */
export function bashCompletion(program: string, grammar: readonly CommandGrammar[]): string {
  const paths = grammar.filter(({ path }) => path.length > 0).map(({ path }) => `'${path.join(' ')}'`);
  return `# bash completion for ${program}
_${identifier(program)}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command= word candidate index
  # An = is its own word to bash.
  if [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then previous=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    candidate="\${command:+$command }\${COMP_WORDS[index]}"
    case "$candidate" in
      ${paths.join('|') || "''"}) command=$candidate ;;
    esac
  done
  COMPREPLY=()
  case "$command $previous" in
${grammar.flatMap(valueCases).join('\n')}
  esac
  case "$command" in
${grammar.map(wordCase).join('\n')}
  esac
}
complete -F _${identifier(program)} ${program}
`;
}

export function identifier(program: string): string {
  return program.replaceAll('-', '_');
}

function valueCases({ path, options }: CommandGrammar): string[] {
  return options.flatMap(({ flags, value }) =>
    value === undefined
      ? []
      : [`    ${flags.map((flag) => `'${path.join(' ')} ${flag}'`).join('|')}) ${reply(value)}; return ;;`],
  );
}

function wordCase({ path, options, commands, args }: CommandGrammar): string {
  const flags = options.flatMap((option) => option.flags).filter((flag) => flag.startsWith('--'));
  const names = commands.map(({ name }) => name);
  const place = args.at(-1);
  const words = place?.kind === 'choice' ? [...names, ...place.choices] : names;
  const other =
    place === undefined || place.kind === 'choice' ? reply({ kind: 'choice', choices: words }) : reply(place);
  return `    '${path.join(' ')}') if [[ $current == -* ]]; then ${reply({ kind: 'choice', choices: flags })}; else ${other}; fi ;;`;
}

/** File names come line by line, so that names with spaces stay whole. \`filenames\` makes bash quote them. */
function reply(expected: Expected): string {
  if (expected.kind === 'text') return `:`;
  if (expected.kind === 'choice') {
    return `COMPREPLY=($(compgen -W '${expected.choices.join(' ')}' -- "$current"))`;
  }
  const kind = expected.kind === 'file' ? '-f' : '-d';
  return `compopt -o filenames 2> /dev/null; while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen ${kind} -- "$current")`;
}
