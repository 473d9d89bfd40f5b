import type { Argument, CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';

/** The kind of word that a place of the command line takes. */
export type Expected =
  | { readonly kind: 'file' | 'folder' | 'text' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] };

export interface OptionGrammar {
  /** All spellings: `-o`, `--output`. */
  readonly flags: readonly string[];
  readonly description: string;
  /** Its value; `undefined` for a switch. */
  readonly value: Expected | undefined;
  readonly repeatable: boolean;
}

export interface CommandGrammar {
  /** Words after the name of the program: `['keys', 'generate']`; none for the program itself. */
  readonly path: readonly string[];
  readonly description: string;
  readonly options: readonly OptionGrammar[];
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  /** The arguments. A variadic one is the last. */
  readonly args: readonly Expected[];
}

/** The grammar of every command, the program itself first, from the same declarations as the help. */
export function grammarOf(program: Command): CommandGrammar[] {
  const globals = visibleOptions(program).filter(({ flags }) => !flags.includes('--version'));
  return [...commandsBelow(program, [])].map(({ path, command }) => {
    const commands = command
      .createHelp()
      .visibleCommands(command)
      .filter((each) => each.name() !== 'help');
    const options = visibleOptions(command);
    const known = new Set(options.flatMap(({ flags }) => flags));
    return {
      path,
      description: command.description(),
      options: [...options, ...globals.filter(({ flags }) => !flags.some((flag) => known.has(flag)))],
      commands: commands.map((each) => ({ name: each.name(), description: each.summary() || each.description() })),
      args: command.registeredArguments.map(expectedOf),
    };
  });
}

function* commandsBelow(
  command: Command,
  path: readonly string[],
): Generator<{ path: readonly string[]; command: Command }> {
  yield { path, command };
  for (const each of command.commands) yield* commandsBelow(each, [...path, each.name()]);
}

function visibleOptions(command: Command): OptionGrammar[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      description: option.description,
      value: option.required || option.optional ? expectedOf(option) : undefined,
      repeatable: option.parseArg !== undefined || option.variadic,
    }));
}

/** By the choices, else by the word between the angle brackets: `<file>`, `[files...]`, `<folder>`. */
function expectedOf(place: Option | Argument): Expected {
  if (place.argChoices) return { kind: 'choice', choices: place.argChoices };
  const name = 'flags' in place ? (/[<[]([\w-]+)/.exec(place.flags)?.[1] ?? '') : place.name();
  if (/^files?$/.test(name)) return { kind: 'file' };
  return { kind: name === 'folder' ? 'folder' : 'text' };
}
