import { Command, type CommandUnknownOpts, type Option, type OptionValues } from '@commander-js/extra-typings';
import { CommanderError } from 'commander';
import { registerCompletion } from './completion/command.ts';
import { InterruptedError, ReaderGoneError } from './errors.ts';
import { exitCodes, exitCodesHelp } from './exit-codes.ts';
import { type Failure, failureOf, problemOf } from './failure.ts';
import { createStyle, jsonLine, printable } from './output.ts';
import type { Terminal } from './terminal.ts';

/** What sets one program apart from another. */
export interface ProgramOptions {
  readonly name: string;
  readonly description: string;
  /** For `--version`. @default - there is no such option */
  readonly version?: string | undefined;
  /** Where to begin, above the commands. @default - nothing */
  readonly start?: string;
  /** Help below the commands; the exit codes follow it. */
  readonly help: string;
  /** Working examples, at the end of the help. */
  readonly examples: readonly string[];
}

/**
 * A program with its commands, options and help. Nothing runs yet.
 * @param withOptions adds the program's own options, which every command takes
 * @param addCommands in the order of `--help`; `completion` comes last
 */
export function createProgram<Own extends CommandUnknownOpts>(
  terminal: Terminal,
  { name, description, version, start, help, examples }: ProgramOptions,
  withOptions: (program: Command<[], { json?: true; quiet?: true }>) => Own,
  addCommands: (program: CommandUnknownOpts) => void = () => {},
): Own {
  const width = () => terminal.size()?.columns ?? 80;
  const program = new Command(name).description(description);
  if (start !== undefined) program.addHelpText('before', `${start}\n`);
  if (version !== undefined) {
    program.option('-V, --version', 'print the version');
    // `runProgram` prints it, in the form that was asked for.
    program.on('option:version', () => {
      throw new CommanderError(exitCodes.ok, 'commander.version', version);
    });
  }
  const general = program
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .option('--json', 'results as one JSON object per line; no progress')
    .option('-q, --quiet', 'results, warnings and errors only');
  const own = withOptions(general);
  const lines = ['', help, '', exitCodesHelp, '', 'Examples:', ...examples.map((each) => `  ${each}`)];
  own
    .addHelpText('after', lines.join('\n'))
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: 20 })
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: terminal.write,
      writeErr: terminal.report,
      getOutHelpWidth: width,
      getErrHelpWidth: width,
      // `runProgram` reports errors, in the form that was asked for.
      outputError: () => {},
    });
  addCommands(own);
  registerCompletion(own, terminal);
  return own;
}

/** Options that several commands share. @returns adds them to a command */
export function optionGroup<Added extends OptionValues, More extends unknown[]>(
  declare: (command: Command, ...more: More) => Command<[], Added>,
) {
  return declare as unknown as <Given extends unknown[], Known extends OptionValues, Global extends OptionValues>(
    command: Command<Given, Known, Global>,
    ...more: More
  ) => Command<Given, Known & Added, Global>;
}

/** Runs a program by its arguments alone, and reports a failure. @returns the exit code, see `exitCodes` */
export async function runProgram(
  program: CommandUnknownOpts,
  argv: readonly string[],
  terminal: Terminal,
  translate: (error: unknown) => Failure | undefined | Promise<Failure | undefined>,
): Promise<number> {
  yieldToCommand(program, argv);
  try {
    await program.parseAsync(argv, { from: 'user' });
    await terminal.flush?.();
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) {
      const { code, message: version } = error;
      if (code === 'commander.version')
        terminal.write(`${argv.includes('--json') ? jsonLine({ version }) : version}\n`);
      return exitCodes.ok;
    }
    const thrown = terminal.signal.aborted ? new InterruptedError() : error;
    // What it has got is not all.
    if (thrown instanceof ReaderGoneError) return exitCodes.partial;
    const known = parserFailure(thrown) ?? (await translate(thrown));
    const failure = failureOf(thrown, () => known);
    report(program.name(), failure, terminal, argv.includes('--json'));
    return failure.exitCode;
  }
}

/** Commander gives an option to the program wherever it is typed. A command that is named and has the same one gets it. */
function yieldToCommand(program: CommandUnknownOpts, argv: readonly string[]): void {
  const options = program.options as Option[];
  const isValue = (at: number) =>
    at > 0 && options.some(({ long, short, required }) => required && [long, short].includes(argv[at - 1]));
  const named = (word: string | undefined) => program.commands.find((each) => each.name() === word);
  const at = argv.findIndex((word, index) => !isValue(index) && named(word));
  const before = argv.slice(0, at);
  const taken = named(argv[at])?.options.map(({ long }) => long) ?? [];
  const kept = options.filter(
    ({ long, short }) => !taken.includes(long) || before.some((word) => word === long || word === short),
  );
  options.splice(0, options.length, ...kept);
}

/** The failure of the command-line parser, which says what it expected. */
function parserFailure(error: unknown): Failure | undefined {
  if (!(error instanceof CommanderError)) return undefined;
  const message =
    error.code === 'commander.help' ? 'a command is missing; see above' : error.message.replace(/^error: /, '');
  // A suggestion is on its own line.
  return { exitCode: exitCodes.usage, code: 'usage', message: message.replaceAll('\n', ' ') };
}

function report(name: string, failure: Failure, terminal: Terminal, json: boolean): void {
  if (json) {
    terminal.report(`${jsonLine({ error: problemOf(failure) })}\n`);
    return;
  }
  const { message, remedy } = failure;
  const head = createStyle(terminal, terminal.isTerminal).bad(`${name}:`);
  terminal.report(`${head} ${printable(message)}\n${remedy === undefined ? '' : `${printable(remedy)}\n`}`);
}
