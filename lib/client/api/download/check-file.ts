import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { DeliveredFile } from '../../../contract/delivery.ts';
import {
  Crypt4ghError,
  decryptSegments,
  NoMatchingKeyError,
  openHeader,
  type SegmentCipher,
} from '../../../crypt4gh/index.ts';
import { throwIfInterrupted } from '../errors.ts';
import { ContainerDigest, headerDigest, loadCrc, readHeader } from './disk/container-digest.ts';
import { hasCode, onDisk } from './disk/local-disk.ts';
import { differenceOf } from './expected.ts';

/**
 * How far a file is what its receipt says: `plaintext` by the SHA-256 of the plaintext, `bytes` by CRC-64/NVME and the header's
 * digest, which show accidents but no forgery. `size_only`: nothing but its size could be compared, so it is not verified.
 */
export type FileState = 'plaintext' | 'bytes' | 'size_only' | 'differs';

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

/** Compares a local file with its receipt. @returns `undefined` if it is missing @throws LocalDiskError; ClientError `interrupted` */
export async function checkFile(options: CheckFileOptions): Promise<FileVerdict | undefined> {
  const { path, form } = options;
  const handle = await onDisk(path, () => open(path, flags)).catch((error: unknown) => {
    if (error instanceof Error && hasCode(error.cause, 'ENOENT')) return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  try {
    const found = await handle.stat();
    if (!found.isFile()) return { state: 'differs', size: 0, detail: 'it is not a file' };
    const file = new OpenFile(handle, found.size, options);
    return form === 'plaintext' ? await file.checkPlaintext() : await file.checkContainer();
  } finally {
    await handle.close();
  }
}

class OpenFile {
  readonly #handle: FileHandle;
  readonly #size: number;
  readonly #options: CheckFileOptions;
  readonly #source = {
    read: (position: number, length: number) => this.#read(position, length),
  };

  constructor(handle: FileHandle, size: number, options: CheckFileOptions) {
    this.#handle = handle;
    this.#size = size;
    this.#options = options;
  }

  async checkPlaintext(): Promise<FileVerdict> {
    const { plaintext_size, plaintext_sha256 } = this.#options.claim;
    if (plaintext_size !== undefined && plaintext_size !== this.#size) {
      return this.#verdict('differs', `it has ${this.#size} bytes, and not ${plaintext_size}`);
    }
    if (plaintext_sha256 !== undefined) return await this.#comparedPlaintext(this.#stream(), plaintext_sha256);
    return this.#verdict('size_only', 'the catalogue has no SHA-256 of the plaintext');
  }

  async checkContainer(): Promise<FileVerdict> {
    const { claim, privateKeys } = this.#options;
    const { plaintext_sha256 } = claim;
    if (privateKeys.length === 0) return await this.#comparedBytes();
    if (plaintext_sha256 === undefined) {
      return await this.#comparedBytes('the catalogue has no SHA-256 of the plaintext');
    }
    try {
      return await this.#decrypted(plaintext_sha256);
    } catch (error) {
      if (error instanceof NoMatchingKeyError) return await this.#comparedBytes('no key opens it');
      if (error instanceof Crypt4ghError) return this.#verdict('differs', error.message);
      throw error;
    }
  }

  /** Compares the plaintext before an edit list, because the receipt has the digest of the submitted file. */
  async #decrypted(listed: string): Promise<FileVerdict> {
    const { claim, privateKeys, cipher = { decryptSegments } } = this.#options;
    const header = await readHeader(this.#source);
    if (header === undefined) return this.#verdict('differs', 'it does not begin with a Crypt4GH header');
    const { dataKeys, editList } = openHeader(header, privateKeys);
    // The digest of the plaintext does not cover an edit list, and anyone who writes the file can add one.
    if (editList && headerDigest(header) !== claim.header_sha256) {
      return this.#verdict('differs', 'its edit list is in a header with another SHA-256');
    }
    try {
      const body = this.#stream(header.length);
      return await this.#comparedPlaintext(cipher.decryptSegments(body, { dataKeys, reuseMemory: true }), listed);
    } finally {
      for (const key of dataKeys) key.fill(0);
    }
  }

  async #comparedPlaintext(plaintext: AsyncIterable<Uint8Array>, listed: string): Promise<FileVerdict> {
    const hash = createHash('sha256');
    for await (const chunk of plaintext) hash.update(chunk);
    return hash.digest('hex') === listed
      ? this.#verdict('plaintext')
      : this.#verdict('differs', 'its plaintext has another SHA-256');
  }

  async #comparedBytes(detail?: string): Promise<FileVerdict> {
    const { claim, signal } = this.#options;
    const digest = new ContainerDigest(this.#source, await loadCrc());
    const isKnown = claim.crc64nvme !== undefined && claim.size === this.#size;
    const found = isKnown
      ? await digest.found(signal)
      : { size: this.#size, headerSha256: await digest.headerSha256() };
    const difference = differenceOf(claim, found);
    if (difference !== undefined) return this.#verdict('differs', difference);
    if (isKnown) return this.#verdict('bytes', detail);
    return this.#verdict('size_only', detail ?? 'the receipt has no checksum of it; give --key');
  }

  async *#stream(start = 0): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = start; ; ) {
      throwIfInterrupted(this.#options.signal);
      const bytes = await this.#read(at, readBytes);
      if (bytes.length === 0) return;
      at += bytes.length;
      yield bytes;
    }
  }

  async #read(position: number, length: number): Promise<Buffer> {
    const { path, onBytes } = this.#options;
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await onDisk(path, () => this.#handle.read(bytes, 0, length, position));
    onBytes(bytesRead);
    return bytes.subarray(0, bytesRead);
  }

  #verdict(state: FileState, detail?: string): FileVerdict {
    return { state, size: this.#size, detail };
  }
}
