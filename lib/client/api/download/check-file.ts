import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { combinedCrc, emptyCrc, formatCrc } from '../../../common/crc64nvme.ts';
import type { DeliveredFile } from '../../../contract/delivery.ts';
import {
  Crypt4ghError,
  decryptSegments,
  NoMatchingKeyError,
  openHeader,
  type SegmentCipher,
} from '../../../crypt4gh/index.ts';
import { throwIfInterrupted } from '../errors.ts';
import { headerDigest, headerSha256, loadCrc, readHeader } from './disk/container-digest.ts';
import { diskError, hasCode, onDisk } from './disk/local-disk.ts';
import { differenceOf } from './expected.ts';

/**
 * How far a file is what its receipt says: `plaintext` by the SHA-256 of the plaintext, `bytes` by CRC-64/NVME and the header's
 * digest, which show accidents but no forgery. `size_only`: nothing but its size could be compared, so it is not verified.
 */
export type FileState = 'plaintext' | 'bytes' | 'size_only' | 'differs' | 'cannot_be_read';

export interface FileVerdict {
  readonly state: FileState;
  /** Bytes of the local file. */
  readonly size: number;
  /** For people: what differs, or why no more could be compared. */
  readonly detail?: string | undefined;
}

export interface CheckFileOptions {
  readonly path: string;
  readonly claim: DeliveredFile;
  /** Whether the file is the container or its plaintext. */
  readonly form: 'container' | 'plaintext';
  /** Raw private keys; empty: the plaintext of containers is not compared. */
  readonly privateKeys: readonly Uint8Array[];
  /** Such as `SegmentWorkers`; default: this thread. */
  readonly cipher?: Pick<SegmentCipher, 'decryptSegments'> | undefined;
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal | undefined;
}

const readBytes = 1024 * 1024;
/** Without O_NONBLOCK, a named pipe would wait for its writer. */
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const noSum = 'the catalogue has no SHA-256 of the plaintext';

/** Compares a local file with its receipt. @returns `undefined` if it is missing @throws LocalDiskError; ClientError `interrupted` */
export async function checkFile(options: CheckFileOptions): Promise<FileVerdict | undefined> {
  const { path, form, onBytes, signal } = options;
  let handle: FileHandle;
  try {
    handle = await open(path, flags);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    // In a folder that several people share, a file can belong to another of them.
    if (hasCode(error, 'EACCES')) return { state: 'cannot_be_read', size: 0, detail: 'permission denied' };
    throw diskError(error, path);
  }
  await using _file = handle;
  const found = await onDisk(path, () => handle.stat());
  if (!found.isFile()) return { state: 'differs', size: 0, detail: 'it is not a file' };
  const read = async (position: number, length: number) => {
    throwIfInterrupted(signal);
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await onDisk(path, () => handle.read(bytes, 0, length, position));
    onBytes(bytesRead);
    return bytes.subarray(0, bytesRead);
  };
  const file = { size: found.size, read };
  const verdict = await (form === 'plaintext' ? checkPlaintext(file, options.claim) : checkContainer(file, options));
  return { size: found.size, ...verdict };
}

interface OpenFile {
  readonly size: number;
  readonly read: (position: number, length: number) => Promise<Buffer>;
}

type Verdict = Pick<FileVerdict, 'state' | 'detail'>;

async function checkPlaintext(file: OpenFile, { plaintext_size, plaintext_sha256 }: DeliveredFile): Promise<Verdict> {
  if (plaintext_size !== undefined && plaintext_size !== file.size) {
    return { state: 'differs', detail: `it has ${file.size} bytes, and not ${plaintext_size}` };
  }
  if (plaintext_sha256 === undefined) return { state: 'size_only', detail: noSum };
  return await comparedPlaintext(bytesOf(file), plaintext_sha256);
}

async function checkContainer(file: OpenFile, options: CheckFileOptions): Promise<Verdict> {
  const { claim, privateKeys } = options;
  if (privateKeys.length === 0) return await comparedBytes(file, claim);
  if (claim.plaintext_sha256 === undefined) return await comparedBytes(file, claim, noSum);
  try {
    return await decrypted(file, claim.plaintext_sha256, options);
  } catch (error) {
    if (error instanceof NoMatchingKeyError) return await comparedBytes(file, claim, 'no key opens it');
    if (error instanceof Crypt4ghError) return { state: 'differs', detail: error.message };
    throw error;
  }
}

/** Compares the plaintext before an edit list, because the receipt has the digest of the submitted file. */
async function decrypted(file: OpenFile, listed: string, options: CheckFileOptions): Promise<Verdict> {
  const { claim, privateKeys, cipher = { decryptSegments } } = options;
  const header = await readHeader(file);
  if (header === undefined) return { state: 'differs', detail: 'it does not begin with a Crypt4GH header' };
  const { dataKeys, editList } = openHeader(header, privateKeys);
  try {
    // The digest of the plaintext does not cover an edit list, and anyone who writes the file can add one.
    if (editList && headerDigest(header) !== claim.header_sha256) {
      return { state: 'differs', detail: 'its edit list is in a header with another SHA-256' };
    }
    const body = bytesOf(file, header.length);
    return await comparedPlaintext(cipher.decryptSegments(body, { dataKeys, reuseMemory: true }), listed);
  } finally {
    for (const key of dataKeys) key.fill(0);
  }
}

async function comparedPlaintext(plaintext: AsyncIterable<Uint8Array>, listed: string): Promise<Verdict> {
  const hash = createHash('sha256');
  for await (const chunk of plaintext) hash.update(chunk);
  if (hash.digest('hex') === listed) return { state: 'plaintext' };
  return { state: 'differs', detail: 'its plaintext has another SHA-256' };
}

/** @param detail why the plaintext is not compared */
async function comparedBytes(file: OpenFile, claim: DeliveredFile, detail?: string): Promise<Verdict> {
  const hasSum = claim.crc64nvme !== undefined && claim.size === file.size;
  const crc64nvme = hasSum ? await crcOf(file) : undefined;
  const difference = differenceOf(claim, { size: file.size, headerSha256: await headerSha256(file), crc64nvme });
  if (difference !== undefined) return { state: 'differs', detail: difference };
  if (hasSum) return { state: 'bytes', detail };
  return { state: 'size_only', detail: detail ?? 'the receipt has no checksum of it; give --key' };
}

async function crcOf(file: OpenFile): Promise<string> {
  const crc = await loadCrc();
  let sum = emptyCrc;
  for await (const bytes of bytesOf(file)) sum = combinedCrc(sum, crc(bytes), bytes.length);
  return formatCrc(sum);
}

async function* bytesOf({ read }: OpenFile, start = 0): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = start; ; ) {
    const bytes = await read(at, readBytes);
    if (bytes.length === 0) return;
    at += bytes.length;
    yield bytes;
  }
}
