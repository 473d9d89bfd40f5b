import { createHash } from 'node:crypto';
import { combinedCrc, emptyCrc, formatCrc } from '../../../../common/crc64nvme.ts';
import { headerLength, headerLimits, MalformedHeaderError } from '../../../../crypt4gh/index.ts';
import { throwIfInterrupted } from '../../errors.ts';

const readBytes = 1024 * 1024;
/** What holds nearly every header; that of one recipient has 124 bytes. */
const headBytes = 4096;

/** Gives up to `length` bytes from `position` on; none behind the end. */
interface Readable {
  read(position: number, length: number): Promise<Uint8Array>;
}

/** What was found of a container. `headerSha256` is empty if it does not begin with a Crypt4GH header. */
export interface Found {
  /** Bytes. */
  readonly size: number;
  readonly headerSha256: string;
  /** Base64; `undefined`: not looked at. */
  readonly crc64nvme?: string | undefined;
}

/** CRC-64/NVME of a container and SHA-256 of its header, read from its file. */
export class ContainerDigest {
  readonly #file: Readable;
  readonly #crc: Crc;

  constructor(file: Readable, crc: Crc) {
    this.#file = file;
    this.#crc = crc;
  }

  /** @throws LocalDiskError; ClientError `interrupted` */
  async found(signal: AbortSignal | undefined): Promise<Found> {
    let crc = emptyCrc;
    let size = 0;
    for (;;) {
      throwIfInterrupted(signal);
      const bytes = await this.#file.read(size, readBytes);
      if (bytes.length === 0) break;
      crc = combinedCrc(crc, this.#crc(bytes), bytes.length);
      size += bytes.length;
    }
    return { size, crc64nvme: formatCrc(crc), headerSha256: await this.headerSha256() };
  }

  /** SHA-256 of the header, in hex; empty if the file does not begin with one. @throws LocalDiskError */
  async headerSha256(): Promise<string> {
    const header = await readHeader(this.#file);
    return header === undefined ? '' : headerDigest(header);
  }
}

/** SHA-256 in lower-case hex. */
export function headerDigest(header: Uint8Array): string {
  return createHash('sha256').update(header).digest('hex');
}

/** The Crypt4GH header of a file; `undefined` if it does not begin with one. @throws LocalDiskError */
export async function readHeader(file: Readable): Promise<Uint8Array | undefined> {
  for (let size = headBytes; ; size = headerLimits.bytes) {
    const bytes = await file.read(0, size);
    const header = headerOf(bytes);
    if (header !== undefined || bytes.length < size || size === headerLimits.bytes) return header;
  }
}

function headerOf(bytes: Uint8Array): Uint8Array | undefined {
  try {
    const length = headerLength(bytes);
    return length === undefined ? undefined : bytes.subarray(0, length);
  } catch (error) {
    if (error instanceof MalformedHeaderError) return undefined;
    throw error;
  }
}

/** CRC-64/NVME, the checksum that S3 keeps of every object, in WebAssembly: three times as fast as in JavaScript. */
export type Crc = (bytes: Uint8Array) => bigint;

/** Polynomial in hex, with the bit of the highest power last. */
const polynomial = '9a6c9329ac4bc9b5';

let made: Promise<Crc> | undefined;

/** Loaded on first use: most commands need no CRC. */
export function loadCrc(): Promise<Crc> {
  made ??= makeCrc();
  return made;
}

async function makeCrc(): Promise<Crc> {
  const { createCRC64 } = await import('hash-wasm');
  const hasher = await createCRC64(polynomial);
  return (bytes) => Buffer.from(hasher.init().update(bytes).digest('binary')).readBigUInt64BE();
}
