import { relative, resolve } from 'node:path';
import { type CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import { UsageError } from '../../../terminal/errors.ts';
import { warnOfCommit } from '../../../terminal/git-warning.ts';
import { printable } from '../../../terminal/output.ts';
import { openSession } from '../../../terminal/session.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import { ClientError } from '../../api/errors.ts';
import { type ConfigFile, readConfigFile } from '../config-file.ts';
import { showChecks } from '../doctor/check.ts';
import { examine, quickRetries } from '../doctor/examine.ts';
import { withConnectionOptions } from '../options.ts';
import { pinKeys } from '../receipt-keys.ts';
import { type CommandContext, openSession as openServiceSession, sessionOf } from '../session.ts';
import { readSettings, settingsFrom, variables } from '../settings.ts';
import { type Answers, askAll, exists, type GivenAnswers, type PlannedKey } from '../setup/questions.ts';
import {
  backupOf,
  changedConfig,
  lostKeysOf,
  oldSettings,
  passwordFile,
  store,
  type UnaskedOptions,
} from '../setup/store.ts';
import { configPath } from '../sources.ts';

const afterHelp = `
Each answer is checked when you give it. Enter takes the value in brackets. Nothing is written before the last answer, so Ctrl-C
changes nothing. Run it again to change a setting: the old configuration file is kept as config.toml.bak, and no key is ever
replaced. At the end it checks everything, as data-out doctor does.

The first command that reads a receipt of a service pins the receipt keys that the service publishes, and a key that a pinned one
endorses is pinned later, as after a rotation by the operator. data-out doctor shows the fingerprints of the pinned keys. Receipts
of other keys are refused. --receipt-keys pins exactly the keys that you list and asks nothing. List only fingerprints that the
operator has confirmed through another channel, for example before the first download, or without a key that was abused.

Examples:
  data-out setup
  data-out setup --visa renewed.jwt
  data-out setup --no-input --url https://data-out.example.org/v1/ --visa visa.jwt --username jane \\
    --password-file password --generate-key me --no-passphrase
  data-out setup --receipt-keys oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U`;

/** `setup`: asks for the settings, makes a key, writes the configuration, and checks it. */
export function registerSetup(program: Command, context: CommandContext): void {
  const setup = program
    .command('setup')
    .description('start here: enter your settings, make a key, check both')
    .option('--url <url>', 'address of the service')
    .option('--visa <file>', 'your visa or passport')
    .option('--username <name>', 'user name for the service')
    .option('--password-file <file>', 'the password; the file stays in place')
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
    );
  withConnectionOptions(setup)
    .addHelpText('after', afterHelp)
    .action(async ({ receiptKeys, ...options }, command) => {
      if (receiptKeys === undefined) return await setUp(context, command, options);
      await using session = await openServiceSession(context, command);
      const pinned = await pinKeys(session, receiptKeys);
      session.output.result({ receiptKeys: pinned }, `pinned receipt keys: ${pinned.join(', ')}`);
    });
}

async function setUp(
  context: CommandContext,
  command: Command,
  options: GivenAnswers & UnaskedOptions & { readonly passphrase: boolean; readonly input: boolean },
): Promise<void> {
  const isAsking = options.input;
  const terminal = isAsking ? context.terminal : withoutPerson(context.terminal);
  if (isAsking && !(terminal.ask && terminal.askShown)) throw noTerminal();
  const { output } = openSession(terminal, command);
  const { config: named } = command.optsWithGlobals();
  const { path } = configPath(terminal, named === undefined ? undefined : String(named));
  const isReplaced = await exists(path);
  const old = oldSettings(terminal, path, await readConfigFile(path, { mustExist: isReplaced }));
  const { ca, insecureHttp, passphraseFile } = options;
  const settings = settingsFrom(old.sources, { ca, insecureHttp, passphraseFile }, terminal);
  const own = { ...context, terminal };
  if (isAsking) output.note(introduction(path, isReplaced));
  const answers = await askAll({
    terminal,
    output,
    isAsking,
    open: (tried) => sessionOf(own, command, { ...settings, visaFile: undefined, ...tried }, quickRetries),
    given: options,
    old: old.answers,
    passwordPath: passwordFile(path),
    passphrase: settings.passphrase,
    isUnprotected: !options.passphrase,
  });
  const lostKeys = await lostKeysOf(old, answers);
  const config = changedConfig(old, answers, { ...options, folder: terminal.folder }, lostKeys);
  const { password, newKey } = answers;
  const typed = password?.file === undefined ? password?.value : undefined;
  await store({ path, config, isReplaced, password: typed, newKey, terminal });
  output.note(`Settings: ${printable(path)}${isReplaced ? `; the old ones: ${printable(backupOf(path))}` : ''}`);
  const secrets = [...(typed === undefined ? [] : [passwordFile(path)]), ...(newKey ? [newKey.privateKey] : [])];
  for (const secret of secrets) await warnOfCommit(resolve(terminal.folder, secret), output);
  for (const path of lostKeys) {
    output.warn(`${printable(path)} no longer exists, and is removed from the settings`);
  }
  for (const name of shadowing(config, terminal)) {
    output.warn(`${name} is set in the environment, and overrides the configuration file`);
  }
  await examineAll(own, command, path, newKey);
  const next = nextStep(answers, terminal);
  output.result({ config: path, ...next.record }, next.text);
}

function withoutPerson(terminal: Terminal): Terminal {
  return { ...terminal, ask: undefined, askAside: undefined, askShown: undefined };
}

function noTerminal(): UsageError {
  return new UsageError('setup asks questions, but there is no terminal to ask on', {
    remedy:
      'Run it in a terminal, or give the answers: data-out setup --no-input --url URL --visa FILE --username NAME ' +
      '--password-file FILE --key FILE.',
  });
}

function introduction(path: string, isReplaced: boolean): string {
  const enter = 'Enter takes the value in brackets. Ctrl-C quits and changes nothing.';
  return isReplaced ? `Your settings in ${printable(path)} are in brackets. ${enter}` : enter;
}

/** Variables of the environment that override a setting of the file. */
function shadowing(config: ConfigFile, { env }: Terminal): string[] {
  return Object.entries(variables).flatMap(([setting, names]) =>
    config[setting as keyof typeof variables] === undefined ? [] : names.filter((name) => env[name]),
  );
}

/** The checks of `doctor` with the settings as every other command finds them. @throws ClientError if one fails */
async function examineAll(
  context: CommandContext,
  command: Command,
  path: string,
  newKey: PlannedKey | undefined,
): Promise<void> {
  const settings = await readSettings({ config: path }, context.terminal);
  const keyFiles = settings.keyFiles.slice(0, 1);
  const passphrase = keyFiles[0] === newKey?.privateKey ? newKey?.passphrase : undefined;
  const known = passphrase === undefined ? settings.passphrase : async () => passphrase;
  await using session = sessionOf(context, command, { ...settings, keyFiles, passphrase: known }, quickRetries);
  const error = await showChecks(examine(session, {}), session.output);
  if (error === undefined) return;
  throw new ClientError(error.code, `your settings are stored, but ${error.message}`, {
    remedy: 'Follow the remedy below that check. data-out setup changes an answer, data-out doctor checks again.',
  });
}

function nextStep({ newKey }: Answers, { folder }: Terminal) {
  const list = 'data-out list';
  if (newKey === undefined) return { record: { next: list }, text: `Next: ${list}` };
  const [publicKey = '', privateKey = ''] = [newKey.publicKey, newKey.privateKey].map((file) =>
    printable(relative(folder, file)),
  );
  return {
    record: { publicKey: newKey.publicKey, privateKey: newKey.privateKey, next: list },
    text:
      `Next: send ${publicKey} to the administrator of the archive. Never send ${privateKey}: it opens your files.\n` +
      `When your files are staged: ${list}`,
  };
}
