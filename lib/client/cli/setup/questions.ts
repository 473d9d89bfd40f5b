import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { inspectPrivateKey } from '../../../crypt4gh/index.ts';
import { UsageError, usageError } from '../../../terminal/errors.ts';
import { type Output, printable } from '../../../terminal/output.ts';
import { askNewSecret } from '../../../terminal/prompts.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import type { BasicCredentials } from '../../api/connection.ts';
import { ClientError, type RefusedHalf } from '../../api/errors.ts';
import { ProxyApi } from '../../api/proxy.ts';
import type { CheckResult } from '../doctor/check.ts';
import { checkAddress, checkCredentials } from '../doctor/examine.ts';
import { checkVisa } from '../doctor/visa-check.ts';
import { keyFileError, readKeyFile, wiping } from '../key-files.ts';
import { type KeyPairFiles, keyPairFiles, notEmpty } from '../key-pair.ts';
import { checkedVisa, readSecretFile, refuseToken } from '../secrets.ts';
import type { Session } from '../session.ts';
import { checkedUsername, type Settings, serviceUrl } from '../settings.ts';
import { pathOf } from '../sources.ts';

/** Answers of the command line. */
export interface GivenAnswers {
  readonly url?: string;
  readonly visa?: string;
  readonly username?: string;
  readonly passwordFile?: string;
  readonly key?: string;
  readonly generateKey?: string;
}

/** Answers of the configuration file; paths are absolute. */
export interface OldAnswers {
  readonly url?: string | undefined;
  readonly visaFile?: string | undefined;
  readonly username?: string | undefined;
  readonly passwordFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** A password, and its file unless it was typed. */
interface Password {
  readonly value: string;
  readonly file?: string;
}

/** A pair of keys to make. */
export interface PlannedKey extends KeyPairFiles {
  /** `undefined`: without protection. */
  readonly passphrase: string | undefined;
}

/** Settings that were checked; paths are absolute. */
export interface Answers {
  readonly url: string;
  readonly visaFile: string;
  readonly username: string | undefined;
  /** `undefined`: it is asked for each time. */
  readonly password: Password | undefined;
  /** `undefined`: none is set. */
  readonly keyFile: string | undefined;
  readonly newKey: PlannedKey | undefined;
}

/** What {@link askAll} needs. */
export interface Asking {
  readonly terminal: Terminal;
  readonly output: Output;
  /** Whether a person can be asked. */
  readonly isAsking: boolean;
  readonly given: GivenAnswers;
  readonly old: OldAnswers;
  /** Where a typed password will be kept. */
  readonly passwordPath: string;
  /** The passphrase of a new key, if a setting names one; `undefined`: a person is asked. */
  readonly passphrase: (() => Promise<string>) | undefined;
  /** Whether a new key gets none. */
  readonly isUnprotected: boolean;
  /** A session with these settings, and the user's other ones. */
  readonly open: (tried: Pick<Settings, 'proxyUrl' | 'visa' | 'basic'>) => Session;
}

/** Why an answer is refused or doubtful. */
type Doubt = ClientError | UsageError;

interface Question<T> {
  /** Without the colon. */
  readonly text: string;
  /** The option that answers it, such as `--url`. */
  readonly option: string;
  /** The answer of the command line. */
  readonly given: string | undefined;
  /** What Enter means, and the answer if no person can be asked. */
  readonly suggested: string | undefined;
  /**
   * @param source names the answer in errors
   * @returns `doubt`: why the answer will probably not work
   * @throws UsageError, ClientError for an answer that cannot be used; also for an empty one, if one is needed
   */
  readonly check: (
    answer: string,
    source: string,
  ) => Promise<{ readonly value: T; readonly doubt?: Doubt | undefined }>;
}

/** What a person types to get a new key. */
const newKey = 'new';

/** Asks for everything and tries each answer by doctor's checks, without writing anything. @throws UsageError, ClientError */
export async function askAll(asking: Asking): Promise<Answers> {
  const address = await askAddress(asking);
  const visa = await askVisa(asking, address);
  const { username, password } = await askCredentials(asking, address, visa);
  return { url: address.url.href, visaFile: visa.file, username, password, ...(await askKey(asking)) };
}

/**
 * The first usable answer. A person is told what is wrong with an answer, and asked again. A doubtful answer is accepted when
 * it is repeated.
 * @throws UsageError, ClientError for a wrong or doubtful answer of an option
 */
async function answerTo<T>(asking: Asking, { text, option, given, suggested, check }: Question<T>): Promise<T> {
  const { askShown } = asking.terminal;
  if (given !== undefined || !asking.isAsking || askShown === undefined) {
    const { value, doubt } = await check(given ?? suggested ?? '', option);
    if (doubt) throw doubt;
    return value;
  }
  let shown = suggested;
  for (let doubted: string | undefined; ; ) {
    const typed = (await askShown(`${text}${shown === undefined ? '' : ` [${printable(shown)}]`}: `)).trim();
    // Terminals quote the name of a file that is dropped on them.
    const answer = (/^(['"])(.+)\1$/.exec(typed)?.[2] ?? typed) || shown || '';
    try {
      const { value, doubt } = await check(answer, text);
      if (doubt === undefined || answer === doubted) return value;
      explain(asking, doubt, 'Press Enter to keep it anyway.');
      doubted = answer;
      shown = answer;
    } catch (error) {
      if (!isDoubt(error)) throw error;
      explain(asking, error);
    }
  }
}

function explain({ output }: Asking, { message, remedy }: Doubt, more?: string): void {
  const lines = [message, remedy, more].filter((line) => line !== undefined);
  output.warn(lines.map(printable).join('\n'));
}

/** Whether the user can correct the error by another answer. */
function isDoubt(error: unknown): error is Doubt {
  return error instanceof UsageError || (error instanceof ClientError && error.code !== 'interrupted');
}

/** An address, and the service's time if it answers. */
interface TriedAddress {
  readonly url: URL;
  readonly now: Date | undefined;
}

function askAddress(asking: Asking): Promise<TriedAddress> {
  return answerTo(asking, {
    text: 'Address of the service',
    option: '--url',
    given: asking.given.url,
    suggested: asking.old.url,
    async check(answer, source) {
      const given = serviceUrl(source, answer);
      await using session = asking.open({ proxyUrl: given, visa: undefined, basic: undefined });
      const service = await session.service();
      // Every address needs a slash at its end.
      const { proxyUrl: url = given } = service;
      const { value: seen, failed } = await resultOf(checkAddress(session, service));
      return { value: { url, now: seen && (seen.date ?? session.terminal.now()) }, doubt: failed && errorOf(failed) };
    },
  });
}

/** What checks return, and the first that failed. */
async function resultOf<T>(checks: AsyncGenerator<CheckResult, T>) {
  let failed: CheckResult | undefined;
  for (let next = await checks.next(); ; next = await checks.next()) {
    if (next.done) return { value: next.value, failed };
    if (next.value.verdict === 'failed') failed ??= next.value;
  }
}

function errorOf({ code = 'usage', text, remedy }: CheckResult): ClientError {
  return new ClientError(code, text, { remedy });
}

/** Which half of the credentials the service refuses; `undefined` if neither, or if it cannot be asked now. */
async function refusalOf(
  { open }: Asking,
  { url, now }: TriedAddress,
  token: string,
  basic?: BasicCredentials,
): Promise<{ readonly half: RefusedHalf; readonly error: ClientError } | undefined> {
  if (now === undefined) return undefined;
  await using session = open({ proxyUrl: url, visa: async () => token, basic: basic && (async () => basic) });
  const { failed } = await resultOf(checkCredentials(session, new ProxyApi(await session.service())));
  return failed?.refused && { half: failed.refused, error: errorOf(failed) };
}

interface TriedVisa {
  readonly file: string;
  readonly token: string;
  /** Whether the service asks for user name and password beside it. */
  readonly needsPassword: boolean;
}

function askVisa(asking: Asking, address: TriedAddress): Promise<TriedVisa> {
  const { folder, now } = asking.terminal;
  return answerTo(asking, {
    text: 'File with your visa',
    option: '--visa',
    given: asking.given.visa,
    suggested: asking.old.visaFile,
    async check(answer, source) {
      if (answer === '') throw usageError(source, 'name the file in which you saved your visa or passport');
      refuseToken(source, answer);
      const file = pathOf({ value: answer, folder });
      const token = await checkedVisa(source, await readSecretFile(source, file));
      const decoded = checkVisa(token, address.now ?? now());
      const refusal = await refusalOf(asking, address, token);
      const doubt =
        decoded.verdict === 'failed' ? errorOf(decoded) : refusal?.half === 'visa' ? refusal.error : undefined;
      return { value: { file, token, needsPassword: refusal?.half === 'password' }, doubt };
    },
  });
}

async function askCredentials(
  asking: Asking,
  address: TriedAddress,
  { token, needsPassword }: TriedVisa,
): Promise<Pick<Answers, 'username' | 'password'>> {
  const refusals: { readonly username: string; readonly password: Password }[] = [];
  for (;;) {
    const last = refusals.at(-1);
    // First only the password is asked for again: it is the likelier mistake.
    const username =
      last && refusals.length % 2 === 1
        ? last.username
        : await askUsername(asking, needsPassword, { last: last?.username, secrets: refusals });
    if (username === undefined) return { username, password: undefined };
    const password = await askPassword(asking, username, last?.username === username ? last.password : undefined);
    if (password === undefined) return { username, password };
    const { value } = password;
    const refusal = await refusalOf(asking, address, token, { username, password: value });
    const isKept = last?.username === username && last.password.value === value;
    if (refusal?.half !== 'password' || isKept) return { username, password };
    if (!asking.isAsking || asking.given.passwordFile !== undefined) throw refusal.error;
    refusals.push({ username, password });
    const next = refusals.length % 2 === 1 ? 'Type the password again.' : 'Refused again: also type the user name.';
    explain(asking, refusal.error, `${next} To keep both anyway, press Enter.`);
  }
}

function askUsername(
  asking: Asking,
  isNeeded: boolean,
  { last, secrets }: { last: string | undefined; secrets: readonly { readonly password: Password }[] },
): Promise<string | undefined> {
  const { terminal, given, old } = asking;
  return answerTo(asking, {
    text: isNeeded ? 'User name' : 'User name (if you have none: Enter)',
    option: '--username',
    given: given.username,
    suggested: last ?? old.username,
    async check(answer, source) {
      if (answer === '' && isNeeded) throw usageError(source, 'this service asks for a user name and a password');
      if (answer !== last && secrets.some(({ password }) => password.value === answer)) {
        // Erases the line of the answer.
        if (terminal.isTerminal) terminal.report('\u001b[A\u001b[2K\r');
        throw usageError(source, 'this is the password that you typed before: it is not taken as a user name');
      }
      return { value: answer === '' ? undefined : checkedUsername(source, answer) };
    },
  });
}

async function askPassword(
  asking: Asking,
  username: string,
  last: Password | undefined,
): Promise<Password | undefined> {
  const { terminal, isAsking, given, old, passwordPath } = asking;
  const { folder, ask } = terminal;
  if (given.passwordFile !== undefined) {
    const file = pathOf({ value: given.passwordFile, folder });
    return { file, value: await readSecretFile('--password-file', file) };
  }
  const { passwordFile } = old;
  const kept = last ?? (old.username === username ? await oldPassword(passwordFile) : undefined);
  if (!isAsking || ask === undefined) return kept;
  for (;;) {
    const enter = kept ? 'keep the one you have' : 'be asked for it each time';
    const value = await ask(`Password (not shown; Enter: ${enter}): `);
    if (value === '') return kept;
    if (/\p{Cc}/u.test(value)) {
      explain(asking, new UsageError('a password cannot contain control characters (RFC 7617)'));
    } else if (passwordFile !== passwordPath && (await exists(passwordPath))) {
      const remedy = 'Move it away, or name the file of your password with --password-file.';
      throw new UsageError(`${passwordPath} exists already, and is not in your settings`, { remedy });
    } else {
      return { value };
    }
  }
}

/** `undefined` if there is none, or its file is gone. */
async function oldPassword(file: string | undefined): Promise<Password | undefined> {
  if (file === undefined || !(await exists(file))) return undefined;
  return { file, value: await readSecretFile('password_file', file) };
}

async function askKey(asking: Asking): Promise<Pick<Answers, 'keyFile' | 'newKey'>> {
  const { isAsking, given, old, terminal } = asking;
  const { folder } = terminal;
  if (given.generateKey !== undefined) return await planKey(asking, given.generateKey);
  const here = resolve(folder, keyPairFiles('me').privateKey);
  const keyFile = await answerTo(asking, {
    text: `File with your private key, or ${newKey} to make one`,
    option: '--key',
    given: given.key,
    suggested: old.keyFile ?? (isAsking ? ((await exists(here)) ? here : newKey) : undefined),
    async check(answer, source) {
      if (answer === '' || (answer === newKey && given.key === undefined)) return { value: answer };
      const file = pathOf({ value: answer, folder });
      const bytes = await readKeyFile(source, file);
      using _wiped = wiping(bytes);
      try {
        inspectPrivateKey(bytes);
      } catch (error) {
        throw keyFileError(file, error, bytes);
      }
      return { value: file };
    },
  });
  if (keyFile === newKey) return await planKey(asking, undefined);
  return { keyFile: keyFile === '' ? undefined : keyFile, newKey: undefined };
}

async function planKey(asking: Asking, given: string | undefined): Promise<Pick<Answers, 'keyFile' | 'newKey'>> {
  const { folder } = asking.terminal;
  const files = await answerTo(asking, {
    text: 'Name of the new key',
    option: '--generate-key',
    given,
    suggested: await freeName(folder),
    async check(answer) {
      const { privateKey, publicKey } = keyPairFiles(pathOf({ value: answer, folder }));
      for (const file of [privateKey, publicKey]) {
        if (!(await exists(file))) continue;
        throw new UsageError(`${file} exists already, and setup never replaces a key`, {
          remedy: 'Choose another name.',
        });
      }
      if (!(await exists(dirname(privateKey)))) throw new UsageError(`there is no folder ${dirname(privateKey)}`);
      return { value: { privateKey, publicKey } };
    },
  });
  return { keyFile: files.privateKey, newKey: { ...files, passphrase: await newPassphrase(asking) } };
}

async function newPassphrase(asking: Asking): Promise<string | undefined> {
  const { terminal, passphrase, isUnprotected, isAsking } = asking;
  if (isUnprotected) return undefined;
  if (passphrase) return notEmpty(await passphrase());
  for (;;) {
    try {
      const remedy = 'Give it with --passphrase-file FILE, or make a key without one with --no-passphrase.';
      return notEmpty(await askNewSecret(terminal, 'New passphrase of the key (not shown)', remedy));
    } catch (error) {
      if (!isDoubt(error) || !isAsking) throw error;
      explain(asking, error);
    }
  }
}

/** `me`, or `me-2` and so on if that is taken. */
async function freeName(folder: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? 'me' : `me-${number}`;
    const { privateKey, publicKey } = keyPairFiles(resolve(folder, name));
    if (!(await exists(privateKey)) && !(await exists(publicKey))) return name;
  }
}

export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
