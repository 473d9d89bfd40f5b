import { randomBytes } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import {
  decryptSegments,
  encryptHeader,
  encryptSegments,
  NoMatchingKeyError,
  openHeader,
  splitContainer,
} from '../../crypt4gh/index.ts';
import type { ArchiveKey } from '../../service/archive/ports.ts';
import { keyHashOf } from '../../service/stores/archive-keys.ts';
import { OpsError } from '../errors.ts';
import { Counter, type PeekableBytes, tee } from './streams.ts';

/** Sizes and digests of a file, known when its body has been read to the end. */
export interface Digests {
  /** Bytes of the plaintext. */
  readonly decryptedSize: number;
  /** Bytes of the file as it was given. */
  readonly uploadedSize: number;
  /** Hex SHA-256 of the plaintext. */
  readonly unencrypted: string;
  /** Hex SHA-256 of the file as it was given. */
  readonly uploaded: string;
}

/** A Crypt4GH container for an archive key, taken apart. */
export interface SplitContainer {
  readonly header: Uint8Array;
  /** `keyHashOf` the archive's public key that the header is for. */
  readonly keyHash: string;
  /** To be read once, to the end. */
  readonly body: AsyncIterable<Uint8Array>;
  /** To be called after the body has been read to the end. */
  digests(): Digests;
}

/** Whether the bytes begin like a Crypt4GH container (the magic number, Crypt4GH 1.0 § 2.2). */
export async function isContainer(bytes: PeekableBytes): Promise<boolean> {
  const magic = Buffer.from('crypt4gh');
  return magic.equals((await bytes.peek(magic.length)).subarray(0, magic.length));
}

/** Encrypt a plaintext to an archive key, with a data key of its own. */
export function encryptForArchive(bytes: PeekableBytes, key: Pick<ArchiveKey, 'publicKey'>): SplitContainer {
  const dataKey = new Uint8Array(randomBytes(32));
  const plain = new Counter();
  return {
    header: encryptHeader({ dataKeys: [dataKey], recipients: [key.publicKey] }),
    keyHash: keyHashOf(key.publicKey),
    body: encryptSegments(plain.count(bytes.all()), { dataKey }),
    digests: () => ({
      decryptedSize: plain.size,
      uploadedSize: plain.size,
      unencrypted: plain.digest,
      uploaded: plain.digest,
    }),
  };
}

/**
 * Take apart a container that is already encrypted to an archive key. Its body passes unchanged. It is decrypted on the
 * way, so that a body that no recipient could read is refused here.
 * @throws OpsError `unusable_input` when no archive key opens the header, `too_large` for a header beyond the limit
 * @throws Crypt4ghError for a malformed container; while the body is read, for a body that does not decrypt
 */
export async function splitForArchive(bytes: PeekableBytes, keys: readonly ArchiveKey[]): Promise<SplitContainer> {
  const { header, body } = await splitContainer(bytes.all());
  if (header.length > limits.headerBytes) {
    throw new OpsError('too_large', `the Crypt4GH header has ${header.length} bytes, more than ${limits.headerBytes}`);
  }
  const { key, opened } = openWithOne(header, keys);
  const uploaded = new Counter();
  const plain = new Counter();
  uploaded.add(header);
  return {
    header,
    keyHash: keyHashOf(key.publicKey),
    body: tee(uploaded.count(body), async (copy) => {
      for await (const chunk of decryptSegments(copy, opened)) plain.add(chunk);
    }),
    digests: () => ({
      decryptedSize: plain.size,
      uploadedSize: uploaded.size,
      unencrypted: plain.digest,
      uploaded: uploaded.digest,
    }),
  };
}

function openWithOne(header: Uint8Array, keys: readonly ArchiveKey[]) {
  for (const key of keys) {
    try {
      return { key, opened: openHeader(header, [key.privateKey]) };
    } catch (error) {
      if (!(error instanceof NoMatchingKeyError)) throw error;
    }
  }
  const count = keys.length === 1 ? 'the archive key' : `any of the ${keys.length} archive keys`;
  throw new OpsError(
    'unusable_input',
    `the file is a Crypt4GH container, but not for ${count}: encrypt it to this archive`,
  );
}
