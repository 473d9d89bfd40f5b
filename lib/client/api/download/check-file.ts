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
import { ClientError, throwIfInterrupted } from '../errors.ts';
import { headerDigest, headerSha256, loadCrc, readHeader } from './disk/container-digest.ts';
import { diskError, hasCode, onDisk } from './disk/local-disk.ts';

/**
 * How far a file is what its receipt says: `plaintext` by the SHA-256 of the plaintext, `bytes` by CRC-64/NVME and the header's
 * digest, which show accidents but no forgery. `size_only`: nothing but its size could be compared, so it is not verified.
 */
export type FileState = 'plaintext' | 'bytes' | 'size_only' | 'differs' | 'cannot_be_read';

interface Verdict {
  readonly state: FileState;
  /** For people: what differs, or why no more could be compared. */
  readonly detail?: string | undefined;
}

export interface FileVerdict extends Verdict {
  /** Bytes of the local file. */
  readonly size: number;
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
  return await decrypted(file, claim.plaintext_sha256, options).catch((error: unknown) => {
    if (error instanceof NoMatchingKeyError) return comparedBytes(file, claim, 'no key opens it');
    if (error instanceof Crypt4ghError) return { state: 'differs', detail: error.message } as const;
    throw error;
  });
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

/** What a verified delivery receipt says of a file. */
export interface Expected {
  readonly file: DeliveredFile;
  readonly receipt: { readonly jti: string };
}

/** What was found of a container. */
interface Found {
  /** Bytes. */
  readonly size: number;
  /** Empty if it does not begin with a Crypt4GH header. */
  readonly headerSha256: string;
  /** Base64; `undefined`: not looked at. */
  readonly crc64nvme?: string | undefined;
}

/** How a file was compared: by CRC-64/NVME and SHA-256 of its header, which show accidents but no forgery. */
export type Verified = 'bytes';

/** In what a container differs from its receipt, for people; `undefined` if nothing that the receipt lists differs. */
function differenceOf(file: DeliveredFile, { size, headerSha256, crc64nvme }: Found): string | undefined {
  if (size !== file.size) return `it has ${size} bytes, and not ${file.size}`;
  if (headerSha256 !== file.header_sha256) return 'its header has another SHA-256';
  const isOther = crc64nvme !== undefined && file.crc64nvme !== undefined && crc64nvme !== file.crc64nvme;
  return isOther ? 'its bytes have another CRC-64/NVME' : undefined;
}

/**
 * Compares a downloaded container with its receipt.
 * @returns `undefined` if the receipt says too little to call the file verified
 * @throws ClientError `not_verified`: nothing of the file can be used
 */
export function compared({ file, receipt }: Expected, found: Found): Verified | undefined {
  const difference = differenceOf(file, found);
  if (difference === undefined) return file.crc64nvme === undefined ? undefined : 'bytes';
  const message = `${file.name}: the file received differs from delivery receipt ${receipt.jti}: ${difference}`;
  throw new ClientError('not_verified', message, {
    remedy:
      'The file is not kept. A new export that is still under way looks like this, because its receipt comes last: run the same ' +
      'command again when the outbox lists a newer receipt. If no export is under way, the file was changed: tell the operator. ' +
      'Name your key in key_files if it is missing there, so that receipts for other keys are ignored.',
  });
}
