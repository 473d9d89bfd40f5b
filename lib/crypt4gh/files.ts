import type { KeyObject } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { BodySizeCheck } from './body-size.ts';
import { type Random, systemRandom, wipe } from './bytes.ts';
import { type DecryptOptions, decrypt, type EncryptOptions } from './container.ts';
import { encryptHeader } from './encrypt-header.ts';
import type { FileJob } from './file-job.ts';
import { openHeader } from './open-header.ts';
import { readHeader } from './read-header.ts';
import { DATA_KEY_BYTES, damagedSegment, prepareDataKey, prepareDataKeys } from './segment-decryptor.ts';
import { SegmentWorkers } from './segment-workers.ts';
import { decryptedSize, ENCRYPTED_SEGMENT_BYTES, NONCE_BYTES, SEGMENT_BYTES } from './sizes.ts';
import { fileSize, fileSource } from './source.ts';

/** Segments of one job: 256 MiB, a fraction of a second, after which others that share the threads have their turn. */
const JOB_SEGMENTS = 4_096;

/** Threads for a whole file; without them each call has its own, and ends them. */
interface WithWorkers {
  readonly workers?: SegmentWorkers;
}

/**
 * Encrypts a file to a container (Crypt4GH § 2) on several threads, each of which reads and writes by itself. The result
 * is that of `encrypt`, byte for byte, with the same randomness.
 *
 * @param source a regular file, open for reading; read from its first byte to its end.
 * @param target open for writing, not for appending; emptied first. Both stay open until the promise is settled.
 * @throws UnusableKeyError `weak-public-key`; RangeError for a wrong argument; what the file system says.
 */
export async function encryptFile(
  source: FileHandle,
  target: FileHandle,
  options: Omit<EncryptOptions, 'workers'> & WithWorkers,
): Promise<void> {
  const { recipients, editList, random = systemRandom } = options;
  const size = await fileSize(source);
  const { header, dataKey } = newHeader({ recipients, editList, random });
  await empty(target);
  await target.write(header, 0, header.length, 0);
  await withWorkers(options.workers, (workers) =>
    inJobs(workers, Math.ceil(size / SEGMENT_BYTES), (first, count) => {
      const from = first * SEGMENT_BYTES;
      return {
        kind: 'encrypt-file',
        dataKey,
        nonces: Buffer.concat(Array.from({ length: count }, () => random(NONCE_BYTES))),
        source: source.fd,
        target: target.fd,
        from,
        length: Math.min(count * SEGMENT_BYTES, size - from),
        to: header.length + first * ENCRYPTED_SEGMENT_BYTES,
      };
    }),
  );
}

function newHeader(options: Omit<Parameters<typeof encryptHeader>[0], 'dataKeys'> & { readonly random: Random }) {
  const dataKey = options.random(DATA_KEY_BYTES);
  try {
    return { header: encryptHeader({ ...options, dataKeys: [dataKey] }), dataKey: prepareDataKey(dataKey) };
  } finally {
    wipe(dataKey);
  }
}

/**
 * Decrypts a container (Crypt4GH § 2) in a file to another file on several threads, each of which reads and writes by
 * itself. Where the header has an edit list, the bytes come through the calling thread instead.
 *
 * When a segment is damaged, the target holds what comes before it and no more.
 *
 * @param source a regular file, open for reading; read from its first byte to its end.
 * @param target open for writing, not for appending; emptied first. Both stay open until the promise is settled.
 * @throws MalformedHeaderError, NoMatchingKeyError, DamagedBodyError; RangeError for a wrong argument; what the file
 * system says.
 */
export async function decryptFile(
  source: FileHandle,
  target: FileHandle,
  options: Omit<DecryptOptions, 'workers'> & WithWorkers,
): Promise<void> {
  const { privateKeys, sender, expectedSize } = options;
  const input = await fileSource(source);
  const header = await readHeader(input);
  const { dataKeys, editList } = openHeader(header, privateKeys, sender === undefined ? {} : { sender });
  const keys = prepareDataKeys(dataKeys);
  wipe(...dataKeys);
  const bodySize = (input.size ?? 0) - header.length;
  if (expectedSize !== undefined) new BodySizeCheck(expectedSize).whole(bodySize);
  decryptedSize(bodySize);
  await empty(target);
  await withWorkers(options.workers, (workers) =>
    editList === undefined
      ? decryptBody({ source, target, keys, bodyStart: header.length, bodySize, workers })
      : copyDecrypted(source, target, { ...options, workers }),
  );
}

/** An empty file is left alone: ext4 writes one that has been truncated to the disk before it lets it be closed. */
async function empty(file: FileHandle): Promise<void> {
  const { size } = await file.stat();
  if (size > 0) await file.truncate(0);
}

async function decryptBody(body: {
  readonly source: FileHandle;
  readonly target: FileHandle;
  readonly keys: readonly KeyObject[];
  readonly bodyStart: number;
  readonly bodySize: number;
  readonly workers: SegmentWorkers;
}): Promise<void> {
  const { source, target, keys, bodyStart, bodySize, workers } = body;
  const damaged = await inJobs(workers, Math.ceil(bodySize / ENCRYPTED_SEGMENT_BYTES), (first, count) => {
    const start = first * ENCRYPTED_SEGMENT_BYTES;
    return {
      kind: 'decrypt-file',
      dataKeys: keys,
      source: source.fd,
      target: target.fd,
      from: bodyStart + start,
      length: Math.min(count * ENCRYPTED_SEGMENT_BYTES, bodySize - start),
      to: first * SEGMENT_BYTES,
    };
  });
  if (damaged === undefined) return;
  // Threads ahead of the damaged segment have written what comes after it.
  await target.truncate(damaged * SEGMENT_BYTES);
  const length = Math.min(ENCRYPTED_SEGMENT_BYTES, bodySize - damaged * ENCRYPTED_SEGMENT_BYTES);
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

/**
 * Does jobs over so many segments one after the other, each on all threads.
 *
 * @returns the first segment that does not authenticate.
 */
async function inJobs(
  workers: SegmentWorkers,
  segments: number,
  makeJob: (first: number, count: number) => FileJob,
): Promise<number | undefined> {
  for (let first = 0; first < segments; first += JOB_SEGMENTS) {
    const damaged = await workers.run(makeJob(first, Math.min(JOB_SEGMENTS, segments - first)));
    if (damaged !== undefined) return first + damaged;
  }
  return undefined;
}

async function withWorkers<Result>(
  given: SegmentWorkers | undefined,
  use: (workers: SegmentWorkers) => Promise<Result>,
): Promise<Result> {
  if (given !== undefined) return use(given);
  await using own = new SegmentWorkers();
  return await use(own);
}
