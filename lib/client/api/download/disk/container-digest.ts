import { createHash } from 'node:crypto';
import { headerLength, headerLimits, MalformedHeaderError } from '../../../../crypt4gh/index.ts';

/** What holds nearly every header; that of one recipient has 124 bytes. */
const headBytes = 4096;

/** Gives up to `length` bytes from `position` on; none behind the end. */
interface Readable {
  read(position: number, length: number): Promise<Uint8Array>;
}

/** SHA-256 of a file's Crypt4GH header, in hex; empty if the file does not begin with one. @throws LocalDiskError */
export async function headerSha256(file: Readable): Promise<string> {
  const header = await readHeader(file);
  return header === undefined ? '' : headerDigest(header);
}

/** SHA-256 in lower-case hex. */
export function headerDigest(header: Uint8Array): string {
  return createHash('sha256').update(header).digest('hex');
}

/** The Crypt4GH header of a file; `undefined` if it does not begin with one. @throws LocalDiskError */
export async function readHeader(file: Readable): Promise<Uint8Array | undefined> {
  try {
    for (const size of [headBytes, headerLimits.bytes]) {
      const bytes = await file.read(0, size);
      const length = headerLength(bytes);
      if (length !== undefined) return bytes.subarray(0, length);
    }
  } catch (error) {
    if (!(error instanceof MalformedHeaderError)) throw error;
  }
  return undefined;
}

/** CRC-64/NVME, the checksum that S3 keeps of every object, in WebAssembly: three times as fast as in JavaScript. */
export type Crc = (bytes: Uint8Array) => bigint;

/** Polynomial in hex, with the bit of the highest power last. */
const polynomial = '9a6c9329ac4bc9b5';

let made: Promise<Crc> | undefined;

/** Loaded on first use: most commands need no CRC. */
export function loadCrc(): Promise<Crc> {
  made ??= import('hash-wasm').then(async ({ createCRC64 }) => {
    const hasher = await createCRC64(polynomial);
    return (bytes) => Buffer.from(hasher.init().update(bytes).digest('binary')).readBigUInt64BE();
  });
  return made;
}
