import { identifier } from './bash.ts';
import type { CommandGrammar, Expected, OptionGrammar } from './grammar.ts';

/** Completion for zsh with its own completion system. */
export function zshCompletion(program: string, grammar: readonly CommandGrammar[]): string {
  const functions = grammar.map((command) => functionOf(program, command));
  const name = nameOf(program, []);
  return `#compdef ${program}
# zsh completion for ${program}
${functions.join('\n')}
if [[ $funcstack[1] == ${name} ]]; then ${name} "$@"; else compdef ${name} ${program}; fi
`;
}

function nameOf(program: string, path: readonly string[]): string {
  return ['', identifier(program), ...path.map((word) => identifier(word))].join('_');
}

function functionOf(program: string, { path, options, commands, args }: CommandGrammar): string {
  const name = nameOf(program, path);
  const flags = options.flatMap((option) => specs(option).map((spec) => `    ${spec} \\`));
  if (commands.length === 0) {
    const places = args.map(
      (place, index) => `    '${index === args.length - 1 ? '*' : index + 1}:: :${actionOf(place)}' \\`,
    );
    return `${name}() {\n  _arguments -s -S \\\n${[...flags, ...places].join('\n')}\n    && return\n}`;
  }
  const described = commands.map((each) => `      ${quoted(`${each.name}:${each.description}`)}`);
  const cases = commands.map((each) => `        ${each.name}) ${nameOf(program, [...path, each.name])} ;;`);
  return `${name}() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C \\
${flags.join('\n')}
    '1: :->command' '*:: :->rest' && return
  case $state in
    command)
      local -a commands=(
${described.join('\n')}
      )
      _describe command commands ;;
    rest)
      case $line[1] in
${cases.join('\n')}
      esac ;;
  esac
}`;
}

function specs({ flags, description, value, repeatable }: OptionGrammar): string[] {
  const exclusive = repeatable ? '*' : `(${flags.join(' ')})`;
  const text = `[${description.replaceAll(/[\\[\]:]/g, '\\$&')}]`;
  return flags.map((flag) => {
    const follows = value === undefined ? '' : `: :${actionOf(value)}`;
    const assigned = value !== undefined && flag.startsWith('--') ? '=' : '';
    return quoted(`${exclusive}${flag}${assigned}${text}${follows}`);
  });
}

function actionOf(expected: Expected): string {
  if (expected.kind === 'choice') return `(${expected.choices.join(' ')})`;
  if (expected.kind === 'text') return ' ';
  return expected.kind === 'file' ? '_files' : '_files -/';
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
