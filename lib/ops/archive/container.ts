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
import { Counter, tee } from './streams.ts';

/** A Crypt4GH container for an archive key, taken apart. */
export interface SplitContainer {
  readonly header: Uint8Array;
  /** `keyHashOf` the archive's public key that the header is for. */
  readonly keyHash: string;
  /** To be read once, to the end. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Size and digest of the plaintext, when the body has been read to the end. */
  readonly plain: Counter;
  /** The same of the file as it was given. */
  readonly uploaded: Counter;
}

const magic = Buffer.from('crypt4gh');

/** Whether a source begins like a Crypt4GH container (the magic number, Crypt4GH 1.0 § 2.2), and all of its bytes. */
export async function lookAt(source: AsyncIterable<Uint8Array>) {
  const iterator = source[Symbol.asyncIterator]();
  let start = Buffer.alloc(0);
  while (start.length < magic.length) {
    const { value, done } = await iterator.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  async function* bytes() {
    try {
      if (start.length > 0) yield start;
      yield* { [Symbol.asyncIterator]: () => iterator };
    } finally {
      await iterator.return?.();
    }
  }
  return { isContainer: magic.equals(start.subarray(0, magic.length)), bytes: bytes() };
}

/** Encrypt a plaintext to an archive key, with its own data key. */
export function encryptForArchive(bytes: AsyncIterable<Uint8Array>, { publicKey }: ArchiveKey): SplitContainer {
  const dataKey = new Uint8Array(randomBytes(32));
  const plain = new Counter();
  return {
    header: encryptHeader({ dataKeys: [dataKey], recipients: [publicKey] }),
    keyHash: keyHashOf(publicKey),
    body: encryptSegments(plain.count(bytes), { dataKey }),
    plain,
    uploaded: plain,
  };
}

/**
 * Take apart a container that is already encrypted to an archive key. Its body passes unchanged. It is decrypted on the
 * way, so that a body that no recipient could read is refused here.
 * @throws OpsError `unusable_input` when no archive key opens the header, `too_large` for a header beyond the limit
 * @throws Crypt4ghError for a malformed container; while the body is read, for a body that does not decrypt
 */
export async function splitForArchive(bytes: AsyncIterable<Uint8Array>, keys: readonly ArchiveKey[]) {
  const { header, body } = await splitContainer(bytes);
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
    plain,
    uploaded,
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
  const message = `the file is a Crypt4GH container, but not for ${count}: encrypt it to this archive`;
  throw new OpsError('unusable_input', message);
}
