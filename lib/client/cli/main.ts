import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { createProgram, runProgram } from '../../terminal/program.ts';
import { registerDatasets, registerFiles } from './commands/datasets.ts';
import { registerDecrypt } from './commands/decrypt.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerDownload } from './commands/download.ts';
import { registerEncrypt } from './commands/encrypt.ts';
import { registerExport } from './commands/export.ts';
import { registerExports } from './commands/exports.ts';
import { registerFetch } from './commands/fetch.ts';
import { registerInspect } from './commands/inspect.ts';
import { registerKeys } from './commands/keys.ts';
import { registerList } from './commands/list.ts';
import { registerReceiptKeys } from './commands/receipt-keys.ts';
import { registerReencrypt } from './commands/reencrypt.ts';
import { registerServe } from './commands/serve.ts';
import { registerSetup } from './commands/setup.ts';
import { registerVerify } from './commands/verify.ts';
import { clientFailure } from './failure.ts';
import type { CommandContext } from './session.ts';

/** In the order of `--help`. */
const registrations: readonly ((program: Command, context: CommandContext) => void)[] = [
  registerSetup,
  registerKeys,
  registerList,
  registerDownload,
  registerVerify,
  registerReceiptKeys,
  registerDatasets,
  registerFiles,
  registerFetch,
  registerServe,
  registerDecrypt,
  registerEncrypt,
  registerReencrypt,
  registerInspect,
  registerDoctor,
  registerExport,
  registerExports,
];

const help = `Settings, the first that is found:
  options; the environment; ~/.config/data-out/config.toml.
  Secrets come from files, the environment or a question, never from the command line.

Environment:
  DATA_OUT_URL, DATA_OUT_DIRECT_URL          addresses of the service; also LOCAL_EGA_INSTANCE_URL
  DATA_OUT_VISA_FILE, DATA_OUT_VISA          your visa or passport; also ELIXIR_AAI_TOKEN
  DATA_OUT_USERNAME, DATA_OUT_PASSWORD       also CENTRAL_EGA_USERNAME, CENTRAL_EGA_PASSWORD, DATA_OUT_PASSWORD_FILE
  DATA_OUT_KEY_FILE, DATA_OUT_PASSPHRASE     your private key; also C4GH_PASSPHRASE
  DATA_OUT_CA_FILE, DATA_OUT_CONFIG          certificate authority, configuration file
  DATA_OUT_ADMIN_USERNAME, DATA_OUT_ADMIN_PASSWORD, DATA_OUT_ADMIN_PASSWORD_FILE   of administrators: export, exports
  HTTPS_PROXY, NO_PROXY, NODE_EXTRA_CA_CERTS, NO_COLOR   as elsewhere`;

/**
 * Run the client.
 * @param argv the arguments alone, without the names of the interpreter and the script
 * @returns the exit code, see `exitCodes`
 */
export async function runClient(argv: readonly string[], context: CommandContext): Promise<number> {
  return await runProgram(clientProgram(context), argv, context.terminal, clientFailure);
}

/** The commands, their options and their help, without running anything. */
export function clientProgram(context: CommandContext): Command {
  return createProgram(
    context.terminal,
    {
      name: 'data-out',
      description: 'List, download, verify, encrypt and decrypt files of a data-out archive.',
      version: context.version,
      start: 'New here? data-out setup asks for your settings and checks them. Then data-out list shows your files.',
      help,
      examples: [
        'data-out doctor',
        'data-out list',
        'data-out download --all -o data',
        'data-out decrypt --key me.sec.pem data/EGAF00000000001-sample.bam.c4gh',
      ],
    },
    (program) => program.option('--config <file>', 'configuration file (default: ~/.config/data-out/config.toml)'),
    (program) => {
      for (const register of registrations) register(program, context);
    },
  );
}
