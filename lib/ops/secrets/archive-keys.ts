import { type ArchiveKeysDocument, archiveKeysDocument } from '../../contract/secrets.ts';
import {
  formatPrivateKey,
  formatPublicKey,
  parsePrivateKey,
  publicKeyFingerprint,
  publicKeyOf,
} from '../../crypt4gh/index.ts';
import { DataOutError } from '../../errors.ts';
import type { ArchiveKey } from '../../service/archive/ports.ts';
import { keyHashOf } from '../../service/stores/archive-keys.ts';
import { OpsError } from '../errors.ts';
import type { EditableSecret } from '../stores/json-secret.ts';
import { readDocument } from './document.ts';

/** The public facts of a key pair. */
export type ShownArchiveKey = ReturnType<typeof show>;

/** The archive's keys, newest first. */
export async function readArchiveKeys(secret: EditableSecret): Promise<readonly [ArchiveKey, ...ArchiveKey[]]> {
  const [newest, ...older] = await keysOf(await readStored(secret));
  if (!newest)
    throw new DataOutError('not_found', 'the archive has no key yet: data-out-ops archive-key add --generate');
  return [newest, ...older];
}

/**
 * Put a key before all others. It is stored without a passphrase: KMS encrypts the secret, and a passphrase beside the
 * key would only slow down every cold start.
 * @throws OpsError `conflict` when the archive has that key already
 */
export async function addArchiveKey(secret: EditableSecret, privateKey: Uint8Array): Promise<ShownArchiveKey> {
  const stored = await readStored(secret);
  const publicKey = publicKeyOf(privateKey);
  if ((await keysOf(stored)).some((key) => Buffer.from(key.publicKey).equals(publicKey))) {
    throw new OpsError('conflict', 'the archive has that key already');
  }
  const text = await formatPrivateKey(privateKey);
  await secret.write({ keys: [{ privateKey: text }, ...stored.keys] });
  return show(publicKey, true);
}

/**
 * Take an older key out of the secret.
 * @param fingerprint as {@link ShownArchiveKey} has it
 * @throws OpsError `conflict` for the newest one
 */
export async function removeArchiveKey(secret: EditableSecret, fingerprint: string): Promise<void> {
  const stored = await readStored(secret);
  const keys = await keysOf(stored);
  const index = keys.indexOf(keyNamed(keys, fingerprint));
  if (index === 0) throw new OpsError('conflict', 'new files are encrypted to this key: add another one first');
  await secret.write({ keys: stored.keys.toSpliced(index, 1) });
}

/** A key pair of the archive, as the secret has it. @param fingerprint @default - of the newest key */
export async function readArchiveKey(secret: EditableSecret, fingerprint?: string): Promise<ArchiveKey> {
  const keys = await readArchiveKeys(secret);
  return fingerprint === undefined ? keys[0] : keyNamed(keys, fingerprint);
}

/** The public halves, newest first. */
export async function showArchiveKeys(secret: EditableSecret): Promise<readonly ShownArchiveKey[]> {
  const keys = await keysOf(await readStored(secret));
  return keys.map((key, index) => show(key.publicKey, index === 0));
}

function keyNamed(keys: readonly ArchiveKey[], fingerprint: string): ArchiveKey {
  const found = keys.find(({ publicKey }) => publicKeyFingerprint(publicKey) === fingerprint);
  if (found) return found;
  const message = `the archive has no key ${fingerprint}: data-out-ops archive-key show lists those that it has`;
  throw new DataOutError('not_found', message);
}

function readStored(secret: EditableSecret): Promise<ArchiveKeysDocument> {
  const about = { name: 'the secret with the archive keys', form: '{"keys":[...]}', empty: { keys: [] } };
  return readDocument(secret, archiveKeysDocument, about);
}

async function keysOf({ keys }: ArchiveKeysDocument): Promise<readonly ArchiveKey[]> {
  const parsed: ArchiveKey[] = [];
  for (const { privateKey: text, passphrase } of keys) {
    const privateKey = await parsePrivateKey(text, passphrase);
    parsed.push({ privateKey, publicKey: publicKeyOf(privateKey) });
  }
  return parsed;
}

function show(publicKey: Uint8Array, newest: boolean) {
  return {
    /** Crypt4GH PEM. */
    publicKey: formatPublicKey(publicKey),
    /** Hex SHA-256 of the 32 bytes. */
    fingerprint: publicKeyFingerprint(publicKey),
    /** Value of `sda.files.key_hash` for headers to this key. */
    keyHash: keyHashOf(publicKey),
    /** Whether new files are encrypted to this key. */
    newest,
  };
}
