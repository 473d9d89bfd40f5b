import { createDecipheriv, createHash } from 'node:crypto';
import { asBuffer, wipe } from '../bytes.ts';
import { PassphraseError, UnusableKeyError } from '../errors.ts';
import { FieldReader } from './fields.ts';
import { checkProtection, deriveKey, type Protection } from './kdf.ts';
import { ed25519PublicKey, sshKeyType, unsupportedSshType } from './openssh-public.ts';

const containerMagic = 'openssh-key-v1\0';

interface SshCipher {
  /** Name in OpenSSL. */
  readonly name: string;
  readonly keyBytes: number;
  readonly ivBytes: number;
}
/** Ciphers of protected private keys: those that the Python reference reads. The default of ssh-keygen is aes256-ctr. */
const ciphers: ReadonlyMap<string, SshCipher> = new Map([
  ...[128, 192, 256].flatMap((bits): [string, SshCipher][] =>
    ['ctr', 'cbc'].map((mode) => [
      `aes${bits}-${mode}`,
      { name: `aes-${bits}-${mode}`, keyBytes: bits / 8, ivBytes: 16 },
    ]),
  ),
  ['3des-cbc', { name: 'des-ede3-cbc', keyBytes: 24, ivBytes: 8 }],
]);

/** Whether these are the bytes of an OpenSSH private key. */
export function isSshPrivateKey(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, containerMagic.length) === containerMagic;
}

/** An OpenSSH ed25519 private key file (PROTOCOL.key of OpenSSH); the secret part is not parsed yet. */
export interface SshKeyFile {
  /** Ed25519. */
  readonly publicKey: Buffer;
  /** Seed, public key and comment; encrypted if the file is protected. */
  readonly secret: Buffer;
  /** `undefined`: unencrypted. */
  readonly protection: (Protection & { readonly cipher: SshCipher }) | undefined;
}

/** Reads the parts that are not encrypted. The result shares the memory of `bytes`. */
export function readSshKeyFile(bytes: Buffer): SshKeyFile {
  const fields = new FieldReader(bytes.subarray(containerMagic.length), 4);
  const cipher = fields.name();
  const kdf = fields.name();
  const kdfOptions = fields.string();
  if (fields.uint32() !== 1) throw new UnusableKeyError('invalid-key-format', 'expected one key in the OpenSSH file');
  // The public half is not encrypted: another type of key is refused before a passphrase is asked for.
  const publicKey = ed25519PublicKey(fields.string());
  const secret = fields.string();
  const isProtected = cipher !== 'none' || kdf !== 'none';
  return { publicKey, secret, protection: isProtected ? readProtection(cipher, kdf, kdfOptions) : undefined };
}

function readProtection(cipherName: string, kdf: string, kdfOptions: Buffer): SshKeyFile['protection'] {
  const cipher = ciphers.get(cipherName);
  if (cipher === undefined) throw new UnusableKeyError('unsupported-cipher', 'the cipher of the key is not supported');
  if (kdf !== 'bcrypt') throw new UnusableKeyError('unsupported-kdf', 'the key derivation is not supported');
  const options = new FieldReader(kdfOptions, 4);
  const salt = options.string();
  const rounds = options.uint32();
  checkProtection({ kdf, salt, rounds });
  return { kdf, salt, rounds, cipher };
}

/** The X25519 key in an OpenSSH private key file; its secret part is wiped. */
export async function openSshKey(file: SshKeyFile, passphrase: string | Uint8Array | undefined): Promise<Uint8Array> {
  const secret = await openSecret(file, passphrase);
  try {
    return privateKeyFromEd25519(seedOf(secret, file));
  } finally {
    wipe(secret);
  }
}

async function openSecret(
  { secret: sealed, protection }: SshKeyFile,
  passphrase: string | Uint8Array | undefined,
): Promise<Buffer> {
  if (protection === undefined) return sealed;
  if (passphrase === undefined) throw new PassphraseError('passphrase-required');
  const { cipher } = protection;
  const derived = await deriveKey(passphrase, protection, cipher.keyBytes + cipher.ivBytes);
  const decipher = createDecipheriv(
    cipher.name,
    derived.subarray(0, cipher.keyBytes),
    derived.subarray(cipher.keyBytes),
  ).setAutoPadding(false);
  try {
    const secret = decipher.update(sealed);
    // Without padding no bytes are left: this only checks the length.
    decipher.final();
    return secret;
  } catch {
    throw new UnusableKeyError('invalid-key-format', 'the protected part of the key has an impossible length');
  } finally {
    wipe(derived);
  }
}

function seedOf(secret: Buffer, { publicKey, protection }: SshKeyFile): Buffer {
  const fields = new FieldReader(secret, 4);
  // Two equal random numbers show that the passphrase was right.
  if (!fields.take(4).equals(fields.take(4))) {
    if (protection !== undefined) throw new PassphraseError('wrong-passphrase');
    throw new UnusableKeyError('invalid-key-format', 'the OpenSSH key is damaged');
  }
  if (fields.name() !== sshKeyType) throw unsupportedSshType();
  const samePublicKey = fields.string().equals(publicKey);
  const seedAndPublicKey = fields.string();
  if (seedAndPublicKey.length !== 64) {
    throw new UnusableKeyError('invalid-key-length', 'the OpenSSH private key is not 64 bytes long');
  }
  if (!samePublicKey || !seedAndPublicKey.subarray(32).equals(publicKey)) {
    throw new UnusableKeyError('invalid-key-format', 'the halves of the OpenSSH key do not belong together');
  }
  return seedAndPublicKey.subarray(0, 32);
}

/** The X25519 private key of an Ed25519 seed: first half of SHA-512, clamped (RFC 8032 § 5.1.5). */
function privateKeyFromEd25519(seed: Uint8Array): Uint8Array {
  const digest = createHash('sha512').update(asBuffer(seed)).digest();
  const half = digest.subarray(0, 32);
  half.writeUInt8(half.readUInt8(0) & 0xf8, 0);
  half.writeUInt8((half.readUInt8(31) & 0x7f) | 0x40, 31);
  const privateKey = Uint8Array.from(half);
  wipe(digest);
  return privateKey;
}
