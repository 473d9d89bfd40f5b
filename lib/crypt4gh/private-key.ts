import { createPrivateKey } from 'node:crypto';
import { expectLength, type Random, systemRandom, wipe } from './bytes.ts';
import { PassphraseError, UnusableKeyError } from './errors.ts';
import { FieldReader, field16 } from './fields.ts';
import { deriveKey, isKdf, type Kdf } from './kdf.ts';
import { isSshPrivateKey, parseSshPrivateKey } from './openssh.ts';
import { formatPem, keyText, type PemBlock, parsePem } from './pem.ts';
import { seal, unseal } from './sealed.ts';
import { NONCE_BYTES, SEGMENT_OVERHEAD } from './sizes.ts';
import { KEY_BYTES } from './x25519.ts';

const label = 'CRYPT4GH PRIVATE KEY';
const magic = 'c4gh-v1';
const noKdf = 'none';
const noCipher = 'none';
const cipherName = 'chacha20_poly1305';
const SALT_BYTES = 16;
/** Rounds written, those of the Python reference; scrypt's field is 0 there. */
const roundsWritten: Readonly<Record<Kdf, number>> = { scrypt: 0, bcrypt: 100, pbkdf2_hmac_sha256: 100_000 };

/**
 * Reads a private key: Crypt4GH PEM in all its key derivations (key format), OpenSSH ed25519 (PROTOCOL.key, converted as
 * in RFC 8032 § 5.1.5) and PKCS#8 X25519 as PEM (RFC 8410 § 7).
 * What the file holds decides, not its label: writers differ there.
 *
 * @param passphrase ignored when the file is not protected.
 * @returns the 32 bytes, as stored.
 * @throws UnusableKeyError, PassphraseError
 */
export async function parsePrivateKey(text: string | Uint8Array, passphrase?: string): Promise<Uint8Array> {
  const block = parsePem(keyText(text));
  try {
    return await parseBlock(block, passphrase);
  } finally {
    wipe(block.bytes);
  }
}

async function parseBlock(block: PemBlock, passphrase: string | undefined): Promise<Uint8Array> {
  if (!block.label.endsWith('PRIVATE KEY')) {
    throw new UnusableKeyError('invalid-key-format', 'expected a private key');
  }
  if (block.bytes.toString('latin1', 0, magic.length) === magic) return parseCrypt4ghKey(block.bytes, passphrase);
  if (isSshPrivateKey(block.bytes)) return parseSshPrivateKey(block.bytes, passphrase);
  if (block.label === 'PRIVATE KEY') return parsePkcs8(block.bytes);
  // An early form of htslib: the raw key under today's label.
  if (block.label === label && block.bytes.length === KEY_BYTES) return Uint8Array.from(block.bytes);
  throw new UnusableKeyError('invalid-key-format', 'the private key is of no known layout');
}

/** Key file layout `c4gh-v1`: kdf, its options, cipher, key, optional comment. */
async function parseCrypt4ghKey(bytes: Buffer, passphrase: string | undefined): Promise<Uint8Array> {
  const fields = new FieldReader(bytes.subarray(magic.length), 2);
  const kdf = fields.name();
  const kdfOptions = kdf === noKdf ? undefined : fields.string();
  const cipher = fields.name();
  const blob = fields.string();
  if (!fields.ended) fields.string();
  if (!fields.ended) throw new UnusableKeyError('invalid-key-format', 'bytes follow the end of the key');

  if (kdfOptions === undefined) {
    if (cipher === noCipher) return checkedKey(blob);
    throw new UnusableKeyError('invalid-key-format', 'a cipher is named, but no key derivation');
  }
  if (!isKdf(kdf)) throw new UnusableKeyError('unsupported-kdf', 'the key derivation of the key is not supported');
  if (cipher !== cipherName) throw new UnusableKeyError('unsupported-cipher', 'the cipher of the key is not supported');
  const options = new FieldReader(kdfOptions, 2);
  const rounds = options.uint32();
  const salt = options.rest();
  if (blob.length < SEGMENT_OVERHEAD) throw new UnusableKeyError('invalid-key-format', 'the key is cut short');
  if (passphrase === undefined) throw new PassphraseError('passphrase-required');
  const key = await deriveKey(kdf, passphrase, { rounds, salt }, KEY_BYTES);
  const secret = unseal(blob, key);
  wipe(key);
  if (secret === undefined) throw new PassphraseError('wrong-passphrase');
  return checkedKey(secret);
}

/** A copy of the secret, which itself is wiped. */
function checkedKey(secret: Buffer): Uint8Array {
  const copy = Uint8Array.from(secret);
  wipe(secret);
  if (copy.length === KEY_BYTES) return copy;
  throw new UnusableKeyError('invalid-key-length', `expected a private key of ${KEY_BYTES} bytes, got ${copy.length}`);
}

function parsePkcs8(der: Buffer): Uint8Array {
  const key = readPkcs8(der);
  const secret = key.asymmetricKeyType === 'x25519' ? key.export({ format: 'jwk' }).d : undefined;
  if (secret === undefined) {
    throw new UnusableKeyError('unsupported-key-type', 'of the PKCS#8 keys only X25519 can be used');
  }
  return checkedKey(Buffer.from(secret, 'base64url'));
}

function readPkcs8(der: Buffer) {
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } catch {
    throw new UnusableKeyError('invalid-key-format', 'the private key is not PKCS#8');
  }
}

/**
 * The key as Crypt4GH PEM (key format), under the label of the Python reference.
 *
 * @param options.passphrase protects the key; default: none, the key is in clear in the file.
 * @param options.kdf how the passphrase becomes a key; default `scrypt`.
 * @param options.comment kept in clear; default: none.
 * @throws RangeError when the key is not 32 bytes or the passphrase is empty.
 */
export async function formatPrivateKey(
  privateKey: Uint8Array,
  options: {
    readonly passphrase?: string;
    readonly kdf?: Kdf;
    readonly comment?: string;
    readonly random?: Random;
  } = {},
): Promise<string> {
  const { passphrase, kdf = 'scrypt', comment, random = systemRandom } = options;
  expectLength(privateKey, KEY_BYTES, 'a private key');
  const secret =
    passphrase === undefined
      ? [field16(noKdf), field16(noCipher), field16(privateKey)]
      : await sealedFields(privateKey, passphrase, kdf, random);
  const end = comment === undefined ? [] : [field16(comment)];
  return formatPem(label, Buffer.concat([Buffer.from(magic, 'ascii'), ...secret, ...end]));
}

async function sealedFields(privateKey: Uint8Array, passphrase: string, kdf: Kdf, random: Random): Promise<Buffer[]> {
  if (passphrase === '') throw new RangeError('expected a passphrase that is not empty');
  const salt = random(SALT_BYTES);
  const nonce = random(NONCE_BYTES);
  const rounds = roundsWritten[kdf];
  const key = await deriveKey(kdf, passphrase, { rounds, salt }, KEY_BYTES);
  const blob = seal(privateKey, key, nonce);
  wipe(key);
  const roundsField = Buffer.alloc(4);
  roundsField.writeUInt32BE(rounds);
  return [field16(kdf), field16(Buffer.concat([roundsField, salt])), field16(cipherName), field16(blob)];
}
