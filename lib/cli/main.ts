import { Command, CommanderError } from 'commander';
import { InterruptedError } from '../terminal/interrupted.ts';
import { jsonLine, printable } from '../terminal/output.ts';
import { registerCompletion } from './commands/completion.ts';
import { registerDatasets, registerFiles } from './commands/datasets.ts';
import { registerDecrypt } from './commands/decrypt.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerDownload } from './commands/download.ts';
import { registerEncrypt } from './commands/encrypt.ts';
import { registerExport } from './commands/export.ts';
import { registerFetch } from './commands/fetch.ts';
import { registerInspect } from './commands/inspect.ts';
import { registerKeys } from './commands/keys.ts';
import { registerList } from './commands/list.ts';
import { registerRearrange } from './commands/rearrange.ts';
import { registerReencrypt } from './commands/reencrypt.ts';
import { exitCodes, exitCodesHelp } from './exit-codes.ts';
import { type Failure, failureOf } from './failure.ts';
import type { CommandContext } from './session.ts';
import { createStyle } from './style.ts';

/** In the order of `--help`. */
const registrations: readonly ((program: Command, context: CommandContext) => void)[] = [
  registerKeys,
  registerList,
  registerDownload,
  registerDatasets,
  registerFiles,
  registerFetch,
  registerDecrypt,
  registerEncrypt,
  registerReencrypt,
  registerRearrange,
  registerInspect,
  registerDoctor,
  registerExport,
  registerCompletion,
];

const afterHelp = `
Settings, the first that is found:
  options; the environment; ~/.config/data-out/config.toml.
  Secrets come from files, the environment or a question, never from the command line.

Environment:
  DATA_OUT_URL, DATA_OUT_DIRECT_URL          addresses of the service; also LOCAL_EGA_INSTANCE_URL
  DATA_OUT_VISA_FILE, DATA_OUT_VISA          your visa or passport; also ELIXIR_AAI_TOKEN
  DATA_OUT_USERNAME, DATA_OUT_PASSWORD       also CENTRAL_EGA_USERNAME, CENTRAL_EGA_PASSWORD, DATA_OUT_PASSWORD_FILE
  DATA_OUT_KEY_FILE, DATA_OUT_PASSPHRASE     your private key; also C4GH_PASSPHRASE
  DATA_OUT_CA_FILE, DATA_OUT_CONFIG          certificate authority, configuration file
  DATA_OUT_ADMIN_USERNAME, DATA_OUT_ADMIN_PASSWORD, DATA_OUT_ADMIN_PASSWORD_FILE   of administrators, for export
  HTTPS_PROXY, NO_PROXY, NODE_EXTRA_CA_CERTS, NO_COLOR   as elsewhere

${exitCodesHelp}`;

/**
 * Run the client.
 * @param argv the arguments alone, without the names of the interpreter and the script
 * @returns the exit code, see `exitCodes`
 */
export async function runClient(argv: readonly string[], context: CommandContext): Promise<number> {
  const { terminal } = context;
  const program = createProgram(context);
  try {
    await program.parseAsync(argv, { from: 'user' });
    await terminal.flush?.();
    return exitCodes.ok;
  } catch (error) {
    const failure = terminal.signal.aborted ? failureOf(new InterruptedError()) : tell(error);
    if (failure) report(failure, context, argv.includes('--json'));
    return failure?.exitCode ?? exitCodes.ok;
  }
}

/** The commands, their options and their help, without running anything. */
export function createProgram(context: CommandContext): Command {
  const { terminal, version } = context;
  const program = new Command('data-out')
    .description('List, download, encrypt and decrypt files of a data-out archive.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .option('--json', 'results as one JSON object a line; no progress')
    .option('-q, --quiet', 'results, warnings and errors only')
    .option('--config <file>', 'configuration file (default: ~/.config/data-out/config.toml)')
    .addHelpText('after', afterHelp)
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: 20 })
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: terminal.write,
      writeErr: terminal.report,
      getOutHelpWidth: () => terminal.size()?.columns ?? 80,
      getErrHelpWidth: () => terminal.size()?.columns ?? 80,
      // Reported by `runClient`, in the form that was asked for.
      outputError: () => {},
    });
  for (const register of registrations) register(program, context);
  return program;
}

/** The failure to report; `undefined` when help or the version was asked for and given. */
function tell(error: unknown): Failure | undefined {
  if (!(error instanceof CommanderError)) return failureOf(error);
  if (error.exitCode === 0) return undefined;
  const message =
    error.code === 'commander.help' ? 'a command is missing; see above' : error.message.replace(/^error: /, '');
  return { exitCode: exitCodes.usage, code: 'usage', message };
}

function report({ code, message, remedy }: Failure, { terminal }: CommandContext, json: boolean): void {
  if (json) {
    terminal.report(`${jsonLine({ error: { code, message, remedy } })}\n`);
    return;
  }
  const name = createStyle(terminal, terminal.isTerminal).bad('data-out:');
  // A suggestion of the parser is on a line of its own.
  const text = message.split('\n').map(printable).join(' ');
  terminal.report(`${name} ${text}\n${remedy === undefined ? '' : `${printable(remedy)}\n`}`);
}
