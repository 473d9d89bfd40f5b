import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { createProgram, runProgram } from '../../terminal/program.ts';
import type { CommandContext } from './session.ts';

type Register = (program: Command, context: CommandContext) => void;

/** The commands, in the order of `--help`. A run loads only its own command. */
const commands: Readonly<Record<string, () => Promise<Register>>> = {
  setup: async () => (await import('./commands/setup.ts')).registerSetup,
  login: async () => (await import('./commands/login.ts')).registerLogin,
  logout: async () => (await import('./commands/login.ts')).registerLogin,
  visas: async () => (await import('./commands/visas.ts')).registerVisas,
  keys: async () => (await import('./commands/keys.ts')).registerKeys,
  list: async () => (await import('./commands/list.ts')).registerList,
  download: async () => (await import('./commands/download.ts')).registerDownload,
  verify: async () => (await import('./commands/verify.ts')).registerVerify,
  serve: async () => (await import('./commands/serve.ts')).registerServe,
  decrypt: async () => (await import('./commands/decrypt.ts')).registerDecrypt,
  encrypt: async () => (await import('./commands/encrypt.ts')).registerEncrypt,
  reencrypt: async () => (await import('./commands/reencrypt.ts')).registerReencrypt,
  inspect: async () => (await import('./commands/inspect.ts')).registerInspect,
  doctor: async () => (await import('./commands/doctor.ts')).registerDoctor,
  admin: async () => (await import('./commands/admin.ts')).registerAdmin,
};

const help = `Settings, the first that is found:
  options; the environment; ~/.config/data-out/config.toml.
  Secrets come from files, the environment or a question, never from the command line.

Environment:
  DATA_OUT_URL                               address of the service; also LOCAL_EGA_INSTANCE_URL
  DATA_OUT_VISA_FILE, DATA_OUT_VISA          your visa or passport; also ELIXIR_AAI_TOKEN
  DATA_OUT_USERNAME, DATA_OUT_PASSWORD       also CENTRAL_EGA_USERNAME, CENTRAL_EGA_PASSWORD, DATA_OUT_PASSWORD_FILE
  DATA_OUT_KEY_FILE, DATA_OUT_PASSPHRASE     your private key; also C4GH_PASSPHRASE
  DATA_OUT_CA_FILE, DATA_OUT_CONFIG          certificate authority, configuration file
  DATA_OUT_ADMIN_USERNAME, DATA_OUT_ADMIN_PASSWORD, DATA_OUT_ADMIN_PASSWORD_FILE   for admin
  HTTPS_PROXY, ALL_PROXY, NO_PROXY, NODE_EXTRA_CA_CERTS, NO_COLOR   with their standard meaning`;

/** Run the client. @param argv the arguments alone @returns the exit code, see `exitCodes` */
export async function runClient(argv: readonly string[], context: CommandContext): Promise<number> {
  const translate = async (error: unknown) => (await import('./failure.ts')).clientFailure(error);
  return await runProgram(await clientProgram(context, argv), argv, context.terminal, translate);
}

/**
 * The commands, their options and their help, without running anything.
 * @param argv of the run, which needs only the commands that it names; default: all
 */
export async function clientProgram(context: CommandContext, argv: readonly string[] = []): Promise<Command> {
  const needsAll = argv.some((word) => ['help', 'completion'].includes(word));
  const named = Object.entries(commands).filter(([name]) => argv.includes(name) && !needsAll);
  const chosen = named.length > 0 ? named : Object.entries(commands);
  const loaded = new Set(await Promise.all(chosen.map(([, load]) => load())));
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
      for (const register of loaded) register(program, context);
    },
  );
}
