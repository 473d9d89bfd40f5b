import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { DeliveredFile } from '../../contract/delivery.ts';
import { Crypt4ghError, decrypt, NoMatchingKeyError, type SegmentCipher } from '../../crypt4gh/index.ts';
import { ContainerDigest } from '../download/disk/container-digest.ts';
import { loadCrc } from '../download/disk/crc.ts';
import { hasCode, onDisk } from '../download/disk/local-disk.ts';
import { throwIfInterrupted } from '../errors.ts';

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
  /** Threads that decrypt. Default: this one. */
  readonly workers?: SegmentCipher | undefined;
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal | undefined;
}

const readBytes = 1024 * 1024;
/** Without O_NONBLOCK, a named pipe would wait for its writer. */
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Compares a local file with its receipt. @returns `undefined` if it is not there @throws LocalDiskError; ClientError `interrupted` */
export async function checkFile(options: CheckFileOptions): Promise<FileVerdict | undefined> {
  const { path, form } = options;
  const handle = await onDisk(path, () => open(path, flags)).catch((error: unknown) => {
    if (error instanceof Error && hasCode(error.cause, 'ENOENT')) return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  try {
    const found = await handle.stat();
    if (!found.isFile()) return { state: 'differs', size: 0, detail: 'it is no file' };
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

  constructor(handle: FileHandle, size: number, options: CheckFileOptions) {
    this.#handle = handle;
    this.#size = size;
    this.#options = options;
  }

  async checkPlaintext(): Promise<FileVerdict> {
    const { plaintext_size, plaintext_sha256 } = this.#options.claim;
    if (plaintext_size !== undefined && plaintext_size !== this.#size) return this.#otherSize(plaintext_size);
    if (plaintext_sha256 !== undefined) return await this.#comparedPlaintext(this.#stream(), plaintext_sha256);
    return this.#verdict('size_only', 'the catalogue has no SHA-256 of the plaintext');
  }

  async checkContainer(): Promise<FileVerdict> {
    const { claim, privateKeys, workers } = this.#options;
    const { plaintext_sha256 } = claim;
    let detail: string | undefined;
    if (privateKeys.length > 0) {
      if (plaintext_sha256 === undefined) {
        detail = 'the catalogue has no SHA-256 of the plaintext';
      } else {
        const options = { privateKeys, reuseMemory: true, ...(workers && { workers }) };
        try {
          return await this.#comparedPlaintext(decrypt(this.#stream(), options), plaintext_sha256);
        } catch (error) {
          if (!(error instanceof Crypt4ghError)) throw error;
          if (!(error instanceof NoMatchingKeyError)) return this.#verdict('differs', error.message);
          detail = 'no key opens it';
        }
      }
    }
    return await this.#comparedBytes(detail);
  }

  async #comparedPlaintext(plaintext: AsyncIterable<Uint8Array>, listed: string): Promise<FileVerdict> {
    const hash = createHash('sha256');
    for await (const chunk of plaintext) hash.update(chunk);
    return hash.digest('hex') === listed
      ? this.#verdict('plaintext')
      : this.#verdict('differs', 'its plaintext has another SHA-256');
  }

  async #comparedBytes(detail: string | undefined): Promise<FileVerdict> {
    const { size, header_sha256, crc64nvme } = this.#options.claim;
    if (size !== this.#size) return this.#otherSize(size);
    const digest = new ContainerDigest(
      { write: async () => {}, read: (...part) => this.#read(...part) },
      await loadCrc(),
    );
    if (crc64nvme === undefined) {
      const headerSha256 = await digest.headerSha256();
      return headerSha256 === header_sha256
        ? this.#verdict('size_only', detail ?? 'the receipt has no checksum of it; give --key')
        : this.#verdict('differs', 'its header has another SHA-256');
    }
    const found = await digest.found(this.#options.signal);
    if (found.headerSha256 !== header_sha256) return this.#verdict('differs', 'its header has another SHA-256');
    if (found.crc64nvme !== crc64nvme) return this.#verdict('differs', 'its bytes have another CRC-64/NVME');
    return this.#verdict('bytes', detail);
  }

  async *#stream(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = 0; ; ) {
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

  #otherSize(listed: number): FileVerdict {
    return this.#verdict('differs', `it has ${this.#size} bytes, and not ${listed}`);
  }

  #verdict(state: FileState, detail?: string): FileVerdict {
    return { state, size: this.#size, detail };
  }
}
