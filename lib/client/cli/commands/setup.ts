import { dirname, relative, resolve } from 'node:path';
import { type CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import { UsageError } from '../../../terminal/errors.ts';
import { warnOfCommit } from '../../../terminal/git-warning.ts';
import { printable } from '../../../terminal/output.ts';
import { openSession } from '../../../terminal/session.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import { connect } from '../../api/connection.ts';
import { exists } from '../../api/download/disk/local-disk.ts';
import { ClientError } from '../../api/errors.ts';
import { aboutService } from '../../api/login/about.ts';
import { type ConfigFile, readConfigFile } from '../config-file.ts';
import { examine, quickRetries } from '../examine.ts';
import { notEmpty } from '../key-pair.ts';
import { withServiceOptions } from '../options.ts';
import { pinKeys } from '../receipt-keys.ts';
import { type CommandContext, openSession as openServiceSession, openTransport, sessionOf } from '../session.ts';
import {
  configPath,
  finder,
  pathOf,
  readSettings,
  type SettingOptions,
  secretOf,
  variables,
  variablesSet,
} from '../settings.ts';
import { type Answers, askAll, type GivenAnswers } from '../setup/answers.ts';
import { passwordFile, store } from '../setup/store.ts';

const afterHelp = `
If the archive lets you sign in, setup asks for no visa file: data-out login gets your visas, before or afterwards.

Enter takes the value in brackets, or leaves a setting out, for example the user name of a service that asks for none. Nothing
is written before the last answer, so Ctrl-C changes nothing. At the end it checks everything, as data-out doctor does. Run it
again to change a setting, which keeps the old configuration file as config.toml.bak and never replaces a key.

The first command that reads a receipt of a service pins the receipt keys that the service publishes, and a key that a pinned one
endorses is pinned later, as after a rotation by the operator. data-out doctor shows the fingerprints of the pinned keys. Receipts
of other keys are refused. --receipt-keys pins exactly the keys that you list and asks nothing. List only fingerprints that the
operator has confirmed through another channel. Use it before the first download, or to drop a key that was abused.

Examples:
  data-out setup
  data-out setup --visa renewed.jwt
  data-out setup --no-input --url https://data-out.example.org/v1/ --visa visa.jwt --username jane \\
    --password-file password --generate-key me --no-passphrase
  data-out setup --receipt-keys oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U`;

/** `setup`: asks for the settings, makes a key, writes the configuration, and checks it. */
export function registerSetup(program: Command, context: CommandContext): void {
  withServiceOptions(program.command('setup'))
    .description('start here: enter your settings, make a key, check both')
    .addOption(new Option('--key <file>', 'your private key').conflicts('generateKey'))
    .option('--generate-key <name>', 'make <name>.sec.pem and <name>.pub.pem')
    .addOption(
      new Option('--passphrase-file <file>', 'passphrase of the key; the file stays in place').conflicts('passphrase'),
    )
    .option('--no-passphrase', 'leave the key unprotected: anyone who can read the file can use it')
    .option('--no-input', 'ask nothing: use the options, and the old settings')
    .addOption(
      new Option(
        '--receipt-keys <list>',
        'ask nothing, and pin exactly these receipt keys: fingerprints with commas',
      ).conflicts(['visa', 'username', 'passwordFile', 'key', 'generateKey', 'passphraseFile']),
    )
    .addHelpText('after', afterHelp)
    .action(async ({ receiptKeys, ...options }, command) => {
      if (receiptKeys === undefined) return await setUp(context, command, options);
      await using session = await openServiceSession(context, command);
      const pinned = await pinKeys(session, receiptKeys);
      session.output.result({ receiptKeys: pinned }, `pinned receipt keys: ${pinned.join(', ')}`);
    });
}

/** The answers of the command line that are typed options. */
type SetupOptions = GivenAnswers & {
  readonly passphraseFile?: string;
  readonly passphrase: boolean;
  readonly input: boolean;
  readonly insecureHttp?: boolean;
};

async function setUp(context: CommandContext, command: Command, options: SetupOptions): Promise<void> {
  const { input: isAsking, passphraseFile, insecureHttp } = options;
  const nobody = { ask: undefined, askAside: undefined, askShown: undefined };
  const terminal: Terminal = isAsking ? context.terminal : { ...context.terminal, ...nobody };
  if (isAsking && !terminal.askShown) {
    const options = '--no-input --url URL --visa FILE --username NAME --password-file FILE --key FILE';
    const remedy = `Run it in a terminal, or give the answers: data-out setup ${options}.`;
    throw new UsageError('setup asks questions, but there is no terminal to ask on', { remedy });
  }
  const { output } = openSession(terminal, command);
  const { config: named, ca }: SettingOptions = command.optsWithGlobals();
  const { path } = configPath(terminal, named);
  const isReplaced = await exists(path);
  const config = await readConfigFile(path, isReplaced);
  const old = withAbsolutePaths(config, dirname(path));
  const known = isReplaced ? `Your settings in ${printable(path)} are in brackets. ` : '';
  if (isAsking) output.note(`${known}Enter takes the value in brackets. Ctrl-C quits and changes nothing.`);
  const find = finder(terminal, { path, config });
  const given = find('--passphrase-file', passphraseFile, variables.passphrase_file, 'passphrase_file');
  const caFile = find('--ca', ca, variables.ca_file, 'ca_file');
  const http = { caFile: caFile && pathOf(caFile), insecureHttp: insecureHttp ?? config.insecure_http ?? false };
  const answers = await askAll({
    terminal,
    async about(url) {
      try {
        await using transport = await openTransport(http, terminal, context.version, quickRetries);
        return await aboutService(connect({ proxyUrl: url, transport }), terminal.signal);
      } catch (error) {
        if (!(error instanceof ClientError) || error.code === 'interrupted') throw error;
        // The checks at the end say what else is wrong.
        if (error.code === 'protocol') output.warn(printable(`${error.message}. ${error.remedy}`));
        return undefined;
      }
    },
    output,
    given: options,
    old,
    passphrase: options.passphrase
      ? secretOf(given, (_source, passphrase) => notEmpty(passphrase))
      : async () => undefined,
  });
  const { typedPassword, newKey, keyFile } = answers;
  const others = old.key_files?.filter((file) => file !== keyFile) ?? [];
  // Older keys are kept, because older files were made for them. One that is gone would stop every command that decrypts.
  const lost = (await Promise.all(others.map(async (file) => ((await exists(file)) ? [] : file)))).flat();
  const fromHere = (file: string | undefined) => file && resolve(terminal.folder, file);
  const changed: ConfigFile = {
    ...config,
    ...answers.settings,
    ...(typedPassword !== undefined && { password_file: passwordFile(path) }),
    ...(keyFile && { key_files: [keyFile, ...others.filter((file) => !lost.includes(file))] }),
    passphrase_file: fromHere(passphraseFile) ?? config.passphrase_file,
    ca_file: fromHere(ca) ?? config.ca_file,
    insecure_http: insecureHttp ?? config.insecure_http,
  };
  const replacesPassword = old.password_file === passwordFile(path);
  await store({ path, config: changed, answers, replacesPassword, terminal });
  output.note(`Settings: ${printable(path)}${isReplaced ? `; the old ones: ${printable(path)}.bak` : ''}`);
  if (typedPassword !== undefined) await warnOfCommit(passwordFile(path), output);
  if (newKey) await warnOfCommit(newKey.privateKey, output);
  for (const file of keyFile ? lost : []) {
    output.warn(`${printable(file)} no longer exists, and is removed from the settings`);
  }
  for (const variable of overriding(changed, terminal.env)) {
    output.warn(`${variable} is set in the environment, and overrides the configuration file`);
  }
  await sayWhatIsNext({ ...context, terminal }, command, path, answers);
}

/** The settings that the questions show. */
function withAbsolutePaths(config: ConfigFile, folder: string): ConfigFile {
  const absolute = (value: string) => pathOf({ value, folder });
  return {
    // An address with a password in it must not be shown.
    url: config.url?.includes('@') ? undefined : config.url,
    visa_file: config.visa_file && absolute(config.visa_file),
    username: config.username,
    password_file: config.password_file && absolute(config.password_file),
    key_files: config.key_files?.map(absolute),
  };
}

/** The variables that are set, and override a setting. */
function overriding(config: ConfigFile, env: Terminal['env']): readonly string[] {
  const settings = Object.keys(variables) as (keyof typeof variables)[];
  return settings
    .filter((setting) => config[setting] !== undefined)
    .flatMap((setting) => variablesSet(variables[setting], env, setting));
}

/** Checks the stored settings, unless the user has to sign in first, and says what comes next. @throws ClientError if a check fails */
async function sayWhatIsNext(
  context: CommandContext,
  command: Command,
  path: string,
  { about, newKey }: Answers,
): Promise<void> {
  const { terminal } = context;
  const settings = await readSettings({ config: path }, terminal);
  const mustSignIn = about?.login !== undefined && settings.visa === undefined;
  if (!mustSignIn) {
    // As `doctor` checks them, with the settings as every other command finds them.
    const keyFiles = settings.keyFiles.slice(0, 1);
    const typed = keyFiles[0] === newKey?.privateKey ? newKey?.passphrase : undefined;
    const passphrase = typed === undefined ? settings.passphrase : async () => typed;
    await using session = sessionOf(context, command, { ...settings, keyFiles, passphrase }, quickRetries);
    const error = await examine(session);
    const remedy =
      'Follow the remedy below that check. data-out setup changes an answer, data-out doctor checks again.';
    if (error) throw new ClientError(error.code, `your settings are stored, but ${error.message}`, { remedy });
  }
  const { output } = openSession(terminal, command);
  const next = mustSignIn ? 'data-out login' : 'data-out list';
  if (newKey === undefined) return output.result({ config: path, next }, `Next, run ${next}.`);
  const { publicKey, privateKey } = newKey;
  const [mine, secret] = [publicKey, privateKey].map((file) => printable(relative(terminal.folder, file)));
  const send = `send ${mine} to the administrator of the archive. Never send ${secret}, which opens your files.`;
  const text = `Next, ${mustSignIn ? `run ${next}, and ` : ''}${send}\nWhen your files are staged, data-out list shows them.`;
  output.result({ config: path, publicKey, privateKey, next }, text);
}
