import { createPrivateKey, type KeyObject } from 'node:crypto';
import { asBuffer, expectLength, type Random, systemRandom, wipe } from '../bytes.ts';
import { PassphraseError, UnusableKeyError } from '../errors.ts';
import { seal, unseal } from '../sealed.ts';
import { nonceBytes, segmentOverhead } from '../sizes.ts';
import { keyBytes } from './encoding.ts';
import { FieldReader } from './fields.ts';
import { checkProtection, deriveKey, isKdf, type Kdf, type Protection } from './kdf.ts';
import { isSshPrivateKey, openSshKey, readSshKeyFile, type SshKeyFile } from './openssh.ts';
import { formatPem, keyText, type PemBlock, parsePem } from './pem.ts';

const label = 'CRYPT4GH PRIVATE KEY';
const magic = 'c4gh-v1';
const noKdf = 'none';
const noCipher = 'none';
const cipherName = 'chacha20_poly1305';
const saltBytes = 16;
/** Rounds of new key files, as the Python reference writes them; for scrypt that is 0. */
const roundsWritten: Readonly<Record<Kdf, number>> = { scrypt: 0, bcrypt: 100, pbkdf2_hmac_sha256: 100_000 };

/**
 * Reads a private key: Crypt4GH PEM with any key derivation (key format), OpenSSH ed25519 (PROTOCOL.key, converted as in
 * RFC 8032 § 5.1.5) and PKCS#8 X25519 as PEM (RFC 8410 § 7). The content of the file decides its form, not its label: writers
 * use different labels.
 *
 * @param passphrase ignored if the file is not protected. Text, taken as UTF-8, or its bytes. Bytes are left unchanged, and may
 * be overwritten as soon as the call has returned its promise. A string cannot be overwritten.
 * @returns the 32 bytes, as stored.
 */
export async function parsePrivateKey(
  text: string | Uint8Array,
  passphrase?: string | Uint8Array,
): Promise<Uint8Array> {
  const block = parsePem(keyText(text));
  try {
    const file = readKeyFile(block);
    if (file.format === 'pkcs8') return openPkcs8(file.key);
    return await (file.format === 'openssh' ? openSshKey(file, passphrase) : openCrypt4ghKey(file, passphrase));
  } finally {
    wipe(block.bytes);
  }
}

/**
 * The public parts of a private key file (key format; PROTOCOL.key; RFC 8410 § 7), from {@link inspectPrivateKey}. They can be
 * read without the passphrase.
 */
export interface PrivateKeyInspection {
  /** Whether a passphrase is needed. */
  readonly isProtected: boolean;
  /**
   * The comment in a Crypt4GH file. It is not authenticated and may hold any character. `undefined` if there is none, and for the
   * other formats: OpenSSH keeps its comment in the encrypted part.
   */
  readonly comment: string | undefined;
}

/**
 * Reads the public parts of a private key file, without its passphrase (key format; PROTOCOL.key; RFC 8410 § 7). Only
 * {@link parsePrivateKey} shows whether the key itself is intact.
 */
export function inspectPrivateKey(text: string | Uint8Array): PrivateKeyInspection {
  const block = parsePem(keyText(text));
  try {
    const file = readKeyFile(block);
    const comment = file.format === 'crypt4gh' ? file.comment : undefined;
    return { isProtected: file.protection !== undefined, comment };
  } finally {
    wipe(block.bytes);
  }
}

/** A key file of layout `c4gh-v1`, or of an early form of htslib. Its secret shares the memory of the file. */
interface Crypt4ghKeyFile {
  /** The key; sealed if the file is protected. */
  readonly secret: Buffer;
  /** `undefined`: unencrypted. */
  readonly protection: Protection | undefined;
  readonly comment: string | undefined;
}

type KeyFile =
  | ({ readonly format: 'crypt4gh' } & Crypt4ghKeyFile)
  | ({ readonly format: 'openssh' } & SshKeyFile)
  | { readonly format: 'pkcs8'; readonly protection: undefined; readonly key: KeyObject };

function readKeyFile({ label: found, bytes: content }: PemBlock): KeyFile {
  if (!found.endsWith('PRIVATE KEY')) {
    const got = found.endsWith('PUBLIC KEY') ? ', got a public one' : '';
    throw new UnusableKeyError('invalid-key-format', `expected a private key${got}`);
  }
  const bytes = asBuffer(content);
  if (bytes.toString('latin1', 0, magic.length) === magic) return { format: 'crypt4gh', ...readCrypt4ghKeyFile(bytes) };
  if (isSshPrivateKey(bytes)) return { format: 'openssh', ...readSshKeyFile(bytes) };
  if (found === 'PRIVATE KEY') return { format: 'pkcs8', protection: undefined, key: readPkcs8(bytes) };
  // An early form of htslib has the raw key under the same label.
  if (found === label && bytes.length === keyBytes) {
    return { format: 'crypt4gh', secret: bytes, protection: undefined, comment: undefined };
  }
  throw new UnusableKeyError('invalid-key-format', 'the private key is of no known layout');
}

/** Reads layout `c4gh-v1` (key format): kdf, its options, cipher, key, optional comment. */
function readCrypt4ghKeyFile(bytes: Buffer): Crypt4ghKeyFile {
  const fields = new FieldReader(bytes.subarray(magic.length), 2);
  const kdf = fields.name();
  const kdfOptions = kdf === noKdf ? undefined : fields.string();
  const cipher = fields.name();
  const secret = fields.string();
  const comment = fields.ended ? undefined : fields.string().toString('utf8');
  if (!fields.ended) throw new UnusableKeyError('invalid-key-format', 'bytes follow the end of the key');

  const protection = kdfOptions === undefined ? undefined : readProtection(kdf, kdfOptions, cipher);
  if (protection === undefined && cipher !== noCipher) {
    throw new UnusableKeyError('invalid-key-format', 'a cipher is named, but no key derivation');
  }
  const length = secret.length - (protection === undefined ? 0 : segmentOverhead);
  if (length < 0) throw new UnusableKeyError('invalid-key-format', 'the key is cut short');
  if (length !== keyBytes) {
    throw new UnusableKeyError('invalid-key-length', `expected a private key of ${keyBytes} bytes, got ${length}`);
  }
  return { secret, protection, comment };
}

function readProtection(kdf: string, kdfOptions: Buffer, cipher: string): Protection {
  if (!isKdf(kdf)) throw new UnusableKeyError('unsupported-kdf', 'the key derivation of the key is not supported');
  if (cipher !== cipherName) throw new UnusableKeyError('unsupported-cipher', 'the cipher of the key is not supported');
  const options = new FieldReader(kdfOptions, 2);
  const protection = { kdf, rounds: options.uint32(), salt: options.rest() };
  checkProtection(protection);
  return protection;
}

async function openCrypt4ghKey(
  { secret: sealed, protection }: Crypt4ghKeyFile,
  passphrase: string | Uint8Array | undefined,
): Promise<Uint8Array> {
  if (protection === undefined) return moved(sealed);
  if (passphrase === undefined) throw new PassphraseError('passphrase-required');
  const key = await deriveKey(passphrase, protection, keyBytes);
  const secret = unseal(sealed, key);
  wipe(key);
  if (secret === undefined) {
    const hint =
      ', or an older Go tool made the key, which derived it by SHA-512: read it with that tool, or make a new key';
    throw new PassphraseError('wrong-passphrase', protection.kdf === 'pbkdf2_hmac_sha256' ? hint : '');
  }
  return moved(secret);
}

/** Copies the secret, and wipes the original. */
function moved(secret: Buffer): Uint8Array {
  const copy = Uint8Array.from(secret);
  wipe(secret);
  return copy;
}

/** DER before the algorithm, in hex (RFC 5958 § 2): a sequence of any length, version 0 or 1, and an inner sequence. */
const pkcs8Start = /^30(?:[0-7].|81..|82....)02010[01]30/;
/** The content of the inner sequence: only the object identifier of X25519 (RFC 8410 § 3). */
const x25519Algorithm = '0506032b656e';

function readPkcs8(der: Buffer): KeyObject {
  const start = der.toString('hex', 0, 32);
  const [sequences] = pkcs8Start.exec(start) ?? [];
  if (sequences === undefined) throw notPkcs8();
  // Before the import: a hostile key of another type can keep OpenSSL busy for minutes.
  if (!start.startsWith(x25519Algorithm, sequences.length)) {
    throw new UnusableKeyError('unsupported-key-type', 'of the PKCS#8 keys only X25519 can be used');
  }
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } catch {
    throw notPkcs8();
  }
}

function notPkcs8(): UnusableKeyError {
  return new UnusableKeyError('invalid-key-format', 'the private key is not PKCS#8');
}

/** The key stands at the end of its DER (RFC 8410 § 7). */
function openPkcs8(key: KeyObject): Uint8Array {
  return moved(key.export({ format: 'der', type: 'pkcs8' }).subarray(-keyBytes));
}

/**
 * The key as Crypt4GH PEM (key format), under the label of the Python reference.
 *
 * @param options.passphrase protects the key: text or its bytes, as for {@link parsePrivateKey}. Default: none, the key in the
 * file is not encrypted.
 * @param options.comment stored unencrypted, for {@link inspectPrivateKey}; at most 65,535 bytes of UTF-8. Default: none.
 */
export async function formatPrivateKey(
  privateKey: Uint8Array,
  options: {
    readonly passphrase?: string | Uint8Array;
    readonly kdf?: Kdf;
    readonly comment?: string;
    readonly random?: Random;
  } = {},
): Promise<string> {
  const { passphrase, kdf = 'scrypt', comment, random = systemRandom } = options;
  expectLength(privateKey, keyBytes, 'a private key');
  if (!isKdf(kdf)) throw new RangeError(`unknown key derivation ${kdf}`);
  if (passphrase === undefined && options.kdf !== undefined) {
    throw new RangeError(`expected a passphrase for the key derivation ${kdf}`);
  }
  const secret =
    passphrase === undefined
      ? [field16(noKdf), field16(noCipher), field16(privateKey)]
      : await sealedFields(privateKey, passphrase, kdf, random);
  const end = comment === undefined ? [] : [field16(comment)];
  return formatPem(label, Buffer.concat([Buffer.from(magic, 'ascii'), ...secret, ...end]));
}

async function sealedFields(
  privateKey: Uint8Array,
  passphrase: string | Uint8Array,
  kdf: Kdf,
  random: Random,
): Promise<Buffer[]> {
  if (passphrase.length === 0) throw new RangeError('expected a passphrase that is not empty');
  const salt = random(saltBytes);
  const nonce = random(nonceBytes);
  const rounds = roundsWritten[kdf];
  const key = await deriveKey(passphrase, { kdf, rounds, salt }, keyBytes);
  const blob = seal(privateKey, key, nonce);
  wipe(key);
  const roundsField = Buffer.alloc(4);
  roundsField.writeUInt32BE(rounds);
  return [field16(kdf), field16(Buffer.concat([roundsField, salt])), field16(cipherName), field16(blob)];
}

/** The reverse of {@link FieldReader.string} with a length field of two bytes. */
function field16(value: Uint8Array | string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length > 0xffff) throw new RangeError('expected a field of at most 65,535 bytes');
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
