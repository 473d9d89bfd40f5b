import type { KeyObject } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { BodySizeCheck } from '../body/body-size.ts';
import { type DecryptOptions, decrypt, type EncryptOptions } from '../body/container.ts';
import { damagedSegment, prepareDataKey, prepareDataKeys } from '../body/segment-decryptor.ts';
import { expectSome, type Random, systemRandom, wipe } from '../bytes.ts';
import { encryptHeader } from '../header/encrypt-header.ts';
import { openHeader } from '../header/open-header.ts';
import { readHeader } from '../header/read-header.ts';
import { dataKeyBytes, decryptedSize, ENCRYPTED_SEGMENT_BYTES, nonceBytes, SEGMENT_BYTES } from '../sizes.ts';
import { fileSize, fileSource } from '../source.ts';
import type { FileJob } from './file-job.ts';
import { SegmentWorkers } from './segment-workers.ts';

/** Segments of one job: 64 MiB. After it, other users of the threads have their turn. */
const jobSegments = 1_024;

interface FileOptions {
  /**
   * Threads that do the work. Default: the call starts as many as the machine runs at once, and ends them. Closing them stops the
   * work; the target then holds parts of the result, with gaps.
   */
  readonly workers?: SegmentWorkers;
}

/**
 * Encrypts a file to a container (Crypt4GH § 2) on several threads. Each thread reads and writes independently. With the same
 * randomness, the result is the same as that of `encrypt`, byte for byte.
 *
 * @param source a regular file, open for reading; read from its first byte to its end.
 * @param target another regular file, open for writing but not for appending; emptied first. Keep both open until the promise
 * is settled.
 */
export async function encryptFile(
  source: FileHandle,
  target: FileHandle,
  options: Omit<EncryptOptions, 'workers'> & FileOptions,
): Promise<void> {
  const { recipients, editList, senderKey, random = systemRandom } = options;
  const size = await fileSize(source);
  const { header, dataKey } = newHeader({ recipients, editList, senderKey, random });
  await empty(target, source);
  await target.write(header, 0, header.length, 0);
  await withWorkers(options.workers, async (workers) => {
    await inJobs(workers, Math.ceil(size / SEGMENT_BYTES), (first, count) => {
      const from = first * SEGMENT_BYTES;
      return {
        kind: 'encrypt-file',
        dataKey,
        nonces: Buffer.concat(Array.from({ length: count }, () => random(nonceBytes))),
        source: source.fd,
        target: target.fd,
        from,
        length: Math.min(count * SEGMENT_BYTES, size - from),
        to: header.length + first * ENCRYPTED_SEGMENT_BYTES,
      };
    });
  });
}

function newHeader(options: Omit<Parameters<typeof encryptHeader>[0], 'dataKeys'> & { readonly random: Random }) {
  const dataKey = options.random(dataKeyBytes);
  try {
    return { header: encryptHeader({ ...options, dataKeys: [dataKey] }), dataKey: prepareDataKey(dataKey) };
  } finally {
    wipe(dataKey);
  }
}

/**
 * Decrypts a container (Crypt4GH § 2) from one file to another on several threads. Each thread reads and writes independently. If
 * the header has an edit list, the bytes go through the calling thread instead.
 *
 * After a damaged segment, the target holds the plaintext before that segment and no more.
 *
 * @param source, target as of {@link encryptFile}.
 */
export async function decryptFile(
  source: FileHandle,
  target: FileHandle,
  options: Omit<DecryptOptions, 'workers'> & FileOptions,
): Promise<void> {
  const { privateKeys, sender, expectedSize } = options;
  expectSome(privateKeys, 'private key');
  const input = await fileSource(source);
  const header = await readHeader(input);
  const { dataKeys, editList } = openHeader(header, privateKeys, { sender });
  const keys = prepareDataKeys(dataKeys);
  wipe(...dataKeys);
  const bodySize = (input.size ?? 0) - header.length;
  if (expectedSize !== undefined) new BodySizeCheck(expectedSize).whole(bodySize);
  decryptedSize(bodySize);
  await empty(target, source);
  const body = { start: header.length, size: bodySize };
  await withWorkers(options.workers, (workers) =>
    editList === undefined
      ? decryptBody(body, { source, target, keys }, workers)
      : copyDecrypted(source, target, { ...options, workers }),
  );
}

/** Empties the target. */
async function empty(target: FileHandle, source: FileHandle): Promise<void> {
  const [to, from] = await Promise.all([target.stat({ bigint: true }), source.stat({ bigint: true })]);
  if (!to.isFile()) throw new RangeError('expected a regular file as target');
  if (to.dev === from.dev && to.ino === from.ino)
    throw new RangeError('expected another file as target than as source');
  // An empty file is left alone: after a truncate, ext4 writes the file to the disk before it can be closed.
  if (to.size > 0n) await target.truncate(0);
}

async function decryptBody(
  body: { readonly start: number; readonly size: number },
  files: { readonly source: FileHandle; readonly target: FileHandle; readonly keys: readonly KeyObject[] },
  workers: SegmentWorkers,
): Promise<void> {
  const { source, target, keys } = files;
  const damaged = await inJobs(workers, Math.ceil(body.size / ENCRYPTED_SEGMENT_BYTES), (first, count) => {
    const start = first * ENCRYPTED_SEGMENT_BYTES;
    return {
      kind: 'decrypt-file',
      dataKeys: keys,
      source: source.fd,
      target: target.fd,
      from: body.start + start,
      length: Math.min(count * ENCRYPTED_SEGMENT_BYTES, body.size - start),
      to: first * SEGMENT_BYTES,
    };
  });
  if (damaged === undefined) return;
  // Other threads have written segments after the damaged one.
  await target.truncate(damaged * SEGMENT_BYTES);
  const length = Math.min(ENCRYPTED_SEGMENT_BYTES, body.size - damaged * ENCRYPTED_SEGMENT_BYTES);
  throw damagedSegment('segment-authentication-failed', damaged, length);
}

async function copyDecrypted(source: FileHandle, target: FileHandle, options: DecryptOptions): Promise<void> {
  const chunks = source.createReadStream({ start: 0, autoClose: false, highWaterMark: 1_048_576 });
  let position = 0;
  for await (const piece of decrypt(chunks, options)) {
    for (let written = 0; written < piece.length; ) {
      const { bytesWritten } = await target.write(piece, written, piece.length - written, position + written);
      written += bytesWritten;
    }
    position += piece.length;
  }
}

/** Does jobs one after the other, each on all threads, up to the first segment that does not authenticate. */
async function inJobs(
  workers: SegmentWorkers,
  segments: number,
  makeJob: (first: number, count: number) => FileJob,
): Promise<number | undefined> {
  for (let first = 0; first < segments; first += jobSegments) {
    const job = makeJob(first, Math.min(jobSegments, segments - first));
    const damaged = await workers.run(job);
    if (damaged !== undefined) return first + damaged;
  }
  return undefined;
}

async function withWorkers(
  given: SegmentWorkers | undefined,
  use: (workers: SegmentWorkers) => Promise<void>,
): Promise<void> {
  if (given !== undefined) return use(given);
  await using own = new SegmentWorkers();
  await use(own);
}
