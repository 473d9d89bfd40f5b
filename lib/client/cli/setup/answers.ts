import { dirname, resolve } from 'node:path';
import { inspectPrivateKey } from '../../../crypt4gh/index.ts';
import { UsageError, usageError } from '../../../terminal/errors.ts';
import { type Output, printable } from '../../../terminal/output.ts';
import { askNewSecret } from '../../../terminal/prompts.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import { withSlash } from '../../api/connection.ts';
import { exists } from '../../api/download/disk/local-disk.ts';
import { ClientError } from '../../api/errors.ts';
import type { About } from '../../api/login/about.ts';
import type { ConfigFile } from '../config-file.ts';
import { keyFileError, readKeyFile, wiping } from '../key-files.ts';
import { keyPairFiles, notEmpty } from '../key-pair.ts';
import { checkedVisa, readSecretFile, refuseToken } from '../secrets.ts';
import { checkedUsername, pathOf, type SettingOptions, serviceUrl } from '../settings.ts';

/** Answers of the command line. */
export interface GivenAnswers extends Pick<SettingOptions, 'url' | 'visa' | 'username' | 'passwordFile'> {
  readonly key?: string;
  readonly generateKey?: string;
}

/**
 * What is known at the end. Paths are absolute. `settings` are as the configuration file has them: without `visa_file`, the user
 * signs in instead; without `password_file`, the password was typed, or is asked for each time.
 */
export type Answers = Awaited<ReturnType<typeof askAll>>;

/** What {@link askAll} needs. */
export interface Asking {
  /** What the service says of itself; `undefined`: it does not answer, or is another or an older one. */
  readonly about: (url: string) => Promise<About | undefined>;
  /** Nobody is asked if it has no `askShown`. */
  readonly terminal: Terminal;
  readonly output: Pick<Output, 'warn'>;
  readonly given: GivenAnswers;
  /** What Enter keeps, with absolute paths. */
  readonly old: ConfigFile;
  /** The passphrase of a new key, which may be none; `undefined`: a person is asked. */
  readonly passphrase: (() => Promise<string | undefined>) | undefined;
}

interface Question<T> {
  /** Without the colon. */
  readonly text: string;
  /** The option that answers it, such as `--url`. */
  readonly option: string;
  readonly given: string | undefined;
  /** What Enter means, and the answer if nobody is asked. */
  readonly suggested: string | undefined;
  /** @param source names the answer in errors @throws UsageError, ClientError for an answer that cannot be used */
  readonly check: (answer: string, source: string) => T | Promise<T>;
}

/** What a person types to get a new key. */
const newKey = 'new';

/** Asks for everything, in order, without writing anything. @throws UsageError, ClientError */
export async function askAll(asking: Asking) {
  const { given, old } = asking;
  const url = await answerTo(asking, {
    text: 'Address of the service',
    option: '--url',
    given: given.url,
    suggested: old.url,
    check: (answer, source) => withSlash(serviceUrl(source, answer)).href,
  });
  const about = await asking.about(url);
  const isSet = (given.visa ?? old.visa_file) !== undefined;
  const visa_file = about?.login && !isSet ? undefined : await askVisa(asking);
  const user = {
    text: 'User name',
    option: '--username',
    given: given.username,
    suggested: old.username,
    check: (answer: string, source: string) => (answer === '' ? undefined : checkedUsername(source, answer)),
  };
  const wantsUser = about?.basicRequired !== false || (user.given ?? user.suggested) !== undefined;
  const username = wantsUser ? await answerTo(asking, user) : undefined;
  const { password_file, ...typed } = username === undefined ? {} : await askPassword(asking, username);
  const settings = { url, visa_file, username, password_file };
  return { settings, ...typed, about, ...(await askKey(asking)) };
}

async function askVisa(asking: Asking): Promise<string> {
  const { given, old, terminal } = asking;
  return await answerTo(asking, {
    text: 'File with your visa',
    option: '--visa',
    given: given.visa,
    suggested: old.visa_file,
    async check(answer, source) {
      if (answer === '') throw usageError(source, 'name the file in which you saved your visa or passport');
      refuseToken(source, answer);
      const file = pathOf({ value: answer, folder: terminal.folder });
      await checkedVisa(source, await readSecretFile(source, file));
      return file;
    },
  });
}

/**
 * The first usable answer. A person is told what is wrong with an answer, and asked again.
 * @throws UsageError, ClientError for a wrong answer of an option
 */
async function answerTo<T>(asking: Asking, { text, option, given, suggested, check }: Question<T>): Promise<T> {
  const { askShown } = asking.terminal;
  if (given !== undefined || askShown === undefined) return await check(given ?? suggested ?? '', option);
  const question = `${text}${suggested === undefined ? '' : ` [${printable(suggested)}]`}: `;
  return await untilUsable(asking, async () => {
    const typed = (await askShown(question)).trim();
    // Terminals quote the name of a file that is dropped on them.
    return await check((/^(['"])(.+)\1$/.exec(typed)?.[2] ?? typed) || (suggested ?? ''), text);
  });
}

async function untilUsable<T>(
  { output, terminal }: Pick<Asking, 'output' | 'terminal'>,
  attempt: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      // A person can correct it by another answer.
      const isWrong = error instanceof UsageError || (error instanceof ClientError && error.code !== 'interrupted');
      if (!isWrong || terminal.askShown === undefined) throw error;
      output.warn([error.message, error.remedy].flatMap((line) => (line ? printable(line) : [])).join('\n'));
    }
  }
}

async function askPassword(
  { given, old, ...asking }: Asking,
  username: string,
): Promise<Pick<ConfigFile, 'password_file'> & { readonly typedPassword?: string }> {
  const { ask, folder } = asking.terminal;
  if (given.passwordFile !== undefined) {
    const password_file = pathOf({ value: given.passwordFile, folder });
    await readSecretFile('--password-file', password_file);
    return { password_file };
  }
  const isKept = old.username === username && old.password_file !== undefined && (await exists(old.password_file));
  const kept = isKept ? { password_file: old.password_file } : {};
  if (ask === undefined) return kept;
  return await untilUsable(asking, async () => {
    const enter = isKept ? 'keep the one you have' : 'be asked for it each time';
    const typedPassword = await ask(`Password (not shown; Enter: ${enter}): `);
    if (/\p{Cc}/u.test(typedPassword)) throw new UsageError('a password cannot contain control characters (RFC 7617)');
    return typedPassword === '' ? kept : { typedPassword };
  });
}

async function askKey(asking: Asking) {
  const { given, old, terminal } = asking;
  const { folder, askShown } = terminal;
  if (given.generateKey !== undefined) return await planKey(asking, given.generateKey);
  const here = resolve(folder, keyPairFiles('me').privateKey);
  const keyFile = await answerTo(asking, {
    text: `File with your private key, or ${newKey} to make one`,
    option: '--key',
    given: given.key,
    suggested: old.key_files?.[0] ?? (askShown && ((await exists(here)) ? here : newKey)),
    async check(answer, source) {
      if (answer === '' || (answer === newKey && given.key === undefined)) return answer;
      const file = pathOf({ value: answer, folder });
      const bytes = await readKeyFile(source, file);
      using _wiped = wiping(bytes);
      try {
        inspectPrivateKey(bytes);
      } catch (error) {
        throw keyFileError(file, error, bytes);
      }
      return file;
    },
  });
  if (keyFile === newKey) return await planKey(asking, undefined);
  return { keyFile: keyFile || undefined, newKey: undefined };
}

/** @returns also the passphrase of a pair of keys to make; `undefined`: without protection */
async function planKey(asking: Asking, given: string | undefined) {
  const { folder } = asking.terminal;
  const taken = async (name: string) => {
    const { privateKey, publicKey } = keyPairFiles(pathOf({ value: name, folder }));
    return (await exists(privateKey)) ? privateKey : (await exists(publicKey)) ? publicKey : undefined;
  };
  let free = 'me';
  for (let number = 2; (await taken(free)) !== undefined; number += 1) free = `me-${number}`;
  const files = await answerTo(asking, {
    text: 'Name of the new key',
    option: '--generate-key',
    given,
    suggested: free,
    async check(answer) {
      const file = await taken(answer);
      const remedy = 'Choose another name.';
      if (file) throw new UsageError(`${file} exists already, and setup never replaces a key`, { remedy });
      const pair = keyPairFiles(pathOf({ value: answer, folder }));
      if (await exists(dirname(pair.privateKey))) return pair;
      throw new UsageError(`there is no folder ${dirname(pair.privateKey)}`);
    },
  });
  const ask = () => {
    const remedy = 'Give it with --passphrase-file FILE, or make a key without one with --no-passphrase.';
    return askNewSecret(asking.terminal, 'New passphrase of the key (not shown)', remedy).then(notEmpty);
  };
  const passphrase = await (asking.passphrase?.() ?? untilUsable(asking, ask));
  return { keyFile: files.privateKey, newKey: { ...files, passphrase } };
}
