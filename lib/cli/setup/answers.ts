import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { inspectPrivateKey } from '../../crypt4gh/index.ts';
import { UsageError, usageError } from '../../terminal/errors.ts';
import { askNewSecret } from '../../terminal/prompts.ts';
import { keyFileError, readKeyFile } from '../key-files.ts';
import { type KeyPairFiles, keyPairFiles, notEmpty } from '../key-pair.ts';
import { checkedVisa, readSecretFile, refuseToken } from '../secrets.ts';
import { checkedUsername } from '../settings.ts';
import { pathOf } from '../sources.ts';
import { type Interview, isDoubt } from './interview.ts';
import type { Trial, TriedAddress } from './trial.ts';

/** Answers of the command line. */
export interface GivenAnswers {
  readonly url?: string;
  readonly visa?: string;
  readonly username?: string;
  readonly passwordFile?: string;
  readonly key?: string;
  readonly generateKey?: string;
}

/** The settings that are there already; paths are absolute. */
export interface OldAnswers {
  readonly url?: string | undefined;
  readonly visaFile?: string | undefined;
  readonly username?: string | undefined;
  readonly passwordFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** A password, and the file that it is in. Without a file, it was typed. */
export interface Password {
  readonly value: string;
  readonly file?: string;
}

/** A new pair of keys, which is not made yet. */
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

/** What {@link askAll} works with. */
export interface AskedWith {
  readonly interview: Interview;
  readonly trial: Trial;
  readonly given: GivenAnswers;
  readonly old: OldAnswers;
  /** Where a typed password will be kept. */
  readonly passwordPath: string;
  /** The passphrase of a new key, if a setting names one; `undefined`: a person is asked. */
  readonly passphrase: (() => Promise<string>) | undefined;
  /** Whether a new key gets none. */
  readonly isUnprotected: boolean;
}

/** What a person types to get a new key. */
const newKey = 'new';

/** Asks for everything, one question after the other. Nothing is written. @throws UsageError, ClientError */
export async function askAll(asked: AskedWith): Promise<Answers> {
  const { interview, trial, given, old } = asked;
  const address = await interview.settle({
    text: 'Address of the service',
    option: '--url',
    given: given.url,
    suggested: old.url,
    check: (answer, source) => trial.address(answer, source),
  });
  const visa = await askVisa(asked, address);
  const { username, password } = await askCredentials(asked, address, visa);
  return { url: address.url.href, visaFile: visa.file, username, password, ...(await askKey(asked)) };
}

/** A visa that was tried alone. */
interface TriedVisa {
  readonly file: string;
  readonly token: string;
  /** Whether the service asks for user name and password beside it. */
  readonly needsPassword: boolean;
}

async function askVisa({ interview, trial, given, old }: AskedWith, address: TriedAddress): Promise<TriedVisa> {
  const { folder, now } = interview.terminal;
  return await interview.settle({
    text: 'File with your visa',
    option: '--visa',
    given: given.visa,
    suggested: old.visaFile,
    check: async (answer, source) => {
      if (answer === '') throw usageError(source, 'name the file in which you have saved your visa or passport');
      refuseToken(source, answer);
      const file = pathOf({ value: answer, folder });
      const token = checkedVisa(source, await readSecretFile(source, file));
      const { refused, doubt } = await trial.visa(address, token, now);
      return { value: { file, token, needsPassword: refused === 'password' }, doubt };
    },
  });
}

async function askCredentials(
  asked: AskedWith,
  address: TriedAddress,
  { token, needsPassword }: TriedVisa,
): Promise<Pick<Answers, 'username' | 'password'>> {
  const { interview, trial, given } = asked;
  const refusals: { readonly username: string; readonly password: Password }[] = [];
  for (;;) {
    const last = refusals.at(-1);
    // The password is asked for twice: a person who types it again does not look which question this is.
    const username =
      last && refusals.length % 2 === 1
        ? last.username
        : await askUsername(asked, needsPassword, { last: last?.username, secrets: refusals });
    if (username === undefined) return { username, password: undefined };
    const password = await askPassword(asked, username, last?.username === username ? last.password : undefined);
    if (password === undefined) return { username, password };
    const { value } = password;
    const { refused, error } = await trial.listing(address, token, { username, password: value });
    const isKept = last?.username === username && last.password.value === value;
    if (refused !== 'password' || error === undefined || isKept) return { username, password };
    if (!interview.isAsking || given.passwordFile !== undefined) throw error;
    refusals.push({ username, password });
    const next = refusals.length % 2 === 1 ? 'Type the password again.' : 'Refused again: also type the user name.';
    interview.tell(error, `${next} To keep both all the same, press Enter.`);
  }
}

async function askUsername(
  { interview, given, old }: AskedWith,
  isNeeded: boolean,
  { last, secrets }: { last: string | undefined; secrets: readonly { readonly password: Password }[] },
): Promise<string | undefined> {
  return await interview.settle({
    text: isNeeded ? 'User name' : 'User name (if you have none: Enter)',
    option: '--username',
    given: given.username,
    suggested: last ?? old.username,
    check: (answer, source) => {
      if (answer === '' && isNeeded) throw usageError(source, 'this service asks for a user name and a password');
      if (answer !== last && secrets.some(({ password }) => password.value === answer)) {
        interview.hideTyped();
        throw usageError(source, 'this is the password that you typed before: it is not taken as a user name');
      }
      return { value: answer === '' ? undefined : checkedUsername(source, answer) };
    },
  });
}

async function askPassword(
  { interview, given, old, passwordPath }: AskedWith,
  username: string,
  last: Password | undefined,
): Promise<Password | undefined> {
  const { terminal, isAsking } = interview;
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
      interview.tell(new UsageError('a password cannot hold control characters (RFC 7617)'));
    } else if (passwordFile !== passwordPath && (await exists(passwordPath))) {
      const remedy = 'Move it away, or name the file of your password with --password-file.';
      throw new UsageError(`${passwordPath} is there already, and is not in your settings`, { remedy });
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

async function askKey(asked: AskedWith): Promise<Pick<Answers, 'keyFile' | 'newKey'>> {
  const { interview, given, old } = asked;
  const { folder } = interview.terminal;
  if (given.generateKey !== undefined) return await planKey(asked, given.generateKey);
  const here = resolve(folder, keyPairFiles('me').privateKey);
  const keyFile = await interview.settle({
    text: `File with your private key, or ${newKey} to make one`,
    option: '--key',
    given: given.key,
    suggested: old.keyFile ?? (interview.isAsking ? ((await exists(here)) ? here : newKey) : undefined),
    check: async (answer, source) => {
      if (answer === '' || (answer === newKey && given.key === undefined)) return { value: answer };
      const file = pathOf({ value: answer, folder });
      const bytes = await readKeyFile(source, file);
      try {
        inspectPrivateKey(bytes);
      } catch (error) {
        throw keyFileError(file, error, bytes);
      } finally {
        bytes.fill(0);
      }
      return { value: file };
    },
  });
  if (keyFile === newKey) return await planKey(asked, undefined);
  return { keyFile: keyFile === '' ? undefined : keyFile, newKey: undefined };
}

async function planKey(asked: AskedWith, given: string | undefined): Promise<Pick<Answers, 'keyFile' | 'newKey'>> {
  const { interview } = asked;
  const { folder } = interview.terminal;
  const files = await interview.settle({
    text: 'Name of the new key',
    option: '--generate-key',
    given,
    suggested: await freeName(folder),
    check: async (answer) => {
      const { privateKey, publicKey } = keyPairFiles(pathOf({ value: answer, folder }));
      for (const file of [privateKey, publicKey]) {
        if (!(await exists(file))) continue;
        throw new UsageError(`${file} exists already, and setup replaces no key`, { remedy: 'Choose another name.' });
      }
      if (!(await exists(dirname(privateKey)))) throw new UsageError(`there is no folder ${dirname(privateKey)}`);
      return { value: { privateKey, publicKey } };
    },
  });
  const passphrase = await newPassphrase(asked);
  return { keyFile: files.privateKey, newKey: { ...files, passphrase } };
}

async function newPassphrase({ interview, passphrase, isUnprotected }: AskedWith): Promise<string | undefined> {
  if (isUnprotected) return undefined;
  if (passphrase) return notEmpty(await passphrase());
  for (;;) {
    try {
      const remedy = 'Give it with --passphrase-file FILE, or make a key without one with --no-passphrase.';
      return notEmpty(await askNewSecret(interview.terminal, 'New passphrase of the key (not shown)', remedy));
    } catch (error) {
      if (!isDoubt(error) || !interview.isAsking) throw error;
      interview.tell(error);
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

/** Whether there is a file or folder of that name. */
export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
