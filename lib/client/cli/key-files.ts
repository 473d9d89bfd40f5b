import { resolve } from 'node:path';
import { decodedText } from '../../common/text.ts';
import { Crypt4ghError, PassphraseError, parsePrivateKey, parsePublicKey } from '../../crypt4gh/index.ts';
import { UsageError, usageError } from '../../terminal/errors.ts';
import type { Output } from '../../terminal/output.ts';
import { printable } from '../../terminal/output.ts';
import { askSecret } from '../../terminal/prompts.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { ClientError } from '../api/errors.ts';
import { fileKind } from './file-kind.ts';
import { readSmallFile, warnWhenOthersCanRead } from './secrets.ts';
import type { Settings } from './settings.ts';

/** Bytes. Real key files have a few hundred. */
export const maxKeyFileBytes = 65_536;
/** How often a person may type a passphrase. */
const attempts = 3;

/** What to do without a passphrase. */
export const passphraseRemedy = 'Give the passphrase with --passphrase-file FILE or DATA_OUT_PASSPHRASE.';

/** What to do when a private key was passed on. */
const ifPrivateKeyCame =
  'Give the file of the public key, often ….pub.pem. If another person gave you this one, delete it, and ask for a new key: ' +
  'anyone who has seen a private key can read the files that are encrypted for it.';

/** A private key and the file it comes from. */
export interface PrivateKeyFile {
  readonly path: string;
  /** 32 bytes. */
  readonly privateKey: Uint8Array;
}

/** Overwrites a secret at the end of the scope. */
export function wiping(secret: Uint8Array | undefined): Disposable {
  return { [Symbol.dispose]: () => void secret?.fill(0) };
}

/** Private keys, which are overwritten at the end of their scope. */
export class PrivateKeys implements Disposable {
  readonly files: PrivateKeyFile[] = [];

  get raw(): readonly Uint8Array[] {
    return this.files.map(({ privateKey }) => privateKey);
  }

  [Symbol.dispose](): void {
    for (const key of this.raw) key.fill(0);
  }
}

type KeyReader = { readonly terminal: Terminal; readonly output: Output; readonly settings: Settings };

/**
 * The private keys that the settings name.
 * @param keys filled by the first call; another call with them reads nothing again
 * @throws UsageError for no key, or an unusable one; ClientError `not_found`, or `forbidden` for a wrong passphrase
 */
export async function readPrivateKeys(reader: KeyReader, keys = new PrivateKeys()): Promise<PrivateKeys> {
  if (keys.files.length > 0) return keys;
  const { keyFiles } = reader.settings;
  if (keyFiles.length === 0) {
    throw new UsageError('no private key is set', {
      remedy: 'Run data-out setup, or give your key with --key FILE or DATA_OUT_KEY_FILE.',
    });
  }
  // One after the other: a person can answer one question at a time.
  for (const path of keyFiles) keys.files.push({ path, privateKey: await readPrivateKey(path, reader) });
  return keys;
}

/** The private key in one file. Its passphrase comes from the settings, else from a person. */
export async function readPrivateKey(path: string, reader: KeyReader): Promise<Uint8Array> {
  const { terminal, output, settings } = reader;
  const text = await readKeyFile('--key', path);
  await warnWhenOthersCanRead('private key', path, output);
  const given = await settings.passphrase?.();
  try {
    return await parsePrivateKey(text, given);
  } catch (error) {
    if (!(error instanceof PassphraseError) || given !== undefined) throw keyFileError(path, error, text);
  }
  for (let attempt = 1; ; attempt += 1) {
    const passphrase = await askSecret(terminal, `Passphrase of ${printable(path)}: `, passphraseRemedy);
    try {
      return await parsePrivateKey(text, passphrase);
    } catch (error) {
      if (!(error instanceof PassphraseError) || attempt === attempts) {
        throw keyFileError(path, error, undefined, `Try again, and check Caps Lock. ${forgotten}`);
      }
      output.warn(`${printable(path)}: the passphrase is wrong; try again`);
    }
  }
}

/** The error of a key of another program; `undefined` for any other content. */
function foreignKey(path: string, content: Uint8Array, cause: unknown): UsageError | undefined {
  const text = Buffer.from(content).toString('latin1').trimStart();
  // The blob of an OpenSSH private key has the name of its type.
  const blob = Buffer.from(/BEGIN OPENSSH PRIVATE KEY-+([^-]*)/.exec(text)?.[1] ?? '', 'base64').toString('latin1');
  const isPutty = /^PuTTY-User-Key-File-|BEGIN SSH2 PUBLIC KEY/.test(text);
  const isOther = /BEGIN (?:RSA|EC|DSA) PRIVATE KEY|^(?:ssh-(?:rsa|dss)|ecdsa-sha2-\S+|sk-\S+) /.test(text);
  if (!isPutty && !isOther && !/ssh-rsa|ssh-dss|ecdsa-sha2-/.test(blob)) return undefined;
  const what = isPutty ? 'a key of PuTTY' : 'an RSA, ECDSA or DSA key';
  let remedy = 'Crypt4GH needs an Ed25519 or X25519 key: make one by data-out keys generate me.';
  if (/^PuTTY\S+ ssh-ed25519/.test(text)) {
    remedy =
      'Convert it: puttygen FILE.ppk -O private-openssh-new -o FILE; or Conversions, Export OpenSSH key in PuTTYgen.';
  } else if (/^AAAAC3NzaC1lZDI1NTE5/m.test(text)) {
    // Base64 of a public key's first bytes: the length and the name of the type ssh-ed25519.
    remedy = 'Convert it with ssh-keygen -i -f FILE, and save what it prints in a new file.';
  }
  return new UsageError(`${path} is ${what}, which cannot be used`, { remedy, cause });
}

/** The bytes of a key file. @param source the option that named it @throws UsageError, ClientError `not_found` */
export async function readKeyFile(source: string, path: string): Promise<Buffer> {
  const bytes = await readSmallFile(source, path, maxKeyFileBytes);
  // Editors and Windows PowerShell put a mark before text.
  const hasMark = /^(?:efbbbf|fffe|feff)/.test(bytes.toString('hex', 0, 3));
  return hasMark ? Buffer.from(decodedText(bytes)) : bytes;
}

/** The 32 bytes of a public key, in any form that `parsePublicKey` takes. @param source the option that named the file */
export async function readPublicKey(source: string, path: string, { folder }: Terminal): Promise<Uint8Array> {
  const absolute = resolve(folder, path);
  const bytes = await readKeyFile(source, absolute);
  try {
    return parsePublicKey(bytes);
  } catch (error) {
    const foreign = foreignKey(absolute, bytes, error);
    if (foreign) throw foreign;
    const found = fileKind(bytes);
    if (found === undefined || found === 'a public key') throw keyFileError(absolute, error);
    throw found === 'a private key'
      ? usageError(source, `${absolute} is a PRIVATE key, but a public key is needed here`, ifPrivateKeyCame)
      : usageError(source, `expected a public key, but ${absolute} is ${found}`, 'Name the file of the public key.');
  }
}

/** What to do about a forgotten passphrase. */
const forgotten =
  'A forgotten passphrase cannot be recovered, so in that case move the key file away, make a new key with data-out setup, ' +
  'and ask for an export to that one.';

/**
 * The error of a key file, with its path.
 * @param content of a file that should be a private key
 * @param remedy what to do about a wrong passphrase; default: for one in a setting
 */
export function keyFileError(
  path: string,
  error: unknown,
  content?: Uint8Array,
  remedy = `Check --passphrase-file and DATA_OUT_PASSPHRASE, or give neither to be asked. ${forgotten}`,
): unknown {
  if (!(error instanceof Crypt4ghError)) return error;
  const foreign = content && foreignKey(path, content, error);
  if (foreign) return foreign;
  const found = content && fileKind(content);
  if (found !== undefined && found !== 'a private key') {
    return new UsageError(`${path}: expected a private key, got ${found}`, {
      remedy: 'Name the file of your private key, often ….sec.pem.',
      cause: error,
    });
  }
  if (!(error instanceof PassphraseError)) return new UsageError(`${path}: ${error.message}`, { cause: error });
  return new ClientError('forbidden', `${path}: ${error.message}`, { remedy, cause: error });
}
