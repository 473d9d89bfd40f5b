import { UnusableKeyError } from '../errors.ts';
import { publicKeyFromEd25519 } from './ed25519.ts';
import { FieldReader } from './fields.ts';
import { decodeBase64 } from './pem.ts';

/** The one type of OpenSSH key that can be used. */
export const sshKeyType = 'ssh-ed25519';

/** Whether the text is an OpenSSH public key line of any type. */
export function looksLikeSshPublicKey(text: string): boolean {
  return /^(ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+\s/.test(text);
}

/** The X25519 key of a line `ssh-ed25519 base64 [comment]`. */
export function parseSshPublicKey(line: string): Uint8Array {
  const [type = '', encoded = ''] = line.split(/\s+/);
  if (type !== sshKeyType) throw unsupportedSshType();
  const blob = decodeBase64(encoded);
  if (blob === undefined) throw new UnusableKeyError('invalid-key-format', 'the OpenSSH key is not base64');
  return publicKeyFromEd25519(ed25519PublicKey(blob));
}

/** The Ed25519 key in an OpenSSH public key. */
export function ed25519PublicKey<Bytes extends Uint8Array>(blob: Bytes): Bytes {
  const fields = new FieldReader(blob, 4);
  if (fields.name() !== sshKeyType) throw unsupportedSshType();
  const publicKey = fields.string();
  if (publicKey.length !== 32) throw new UnusableKeyError('invalid-key-length', 'the OpenSSH key is not 32 bytes long');
  if (!fields.ended) throw new UnusableKeyError('invalid-key-format', 'bytes follow the OpenSSH key');
  return publicKey;
}

export function unsupportedSshType(): UnusableKeyError {
  return new UnusableKeyError('unsupported-key-type', 'of the OpenSSH keys only ssh-ed25519 can be used');
}
