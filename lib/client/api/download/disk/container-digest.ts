import { createHash } from 'node:crypto';
import { combinedCrc, emptyCrc, formatCrc } from '../../../../common/crc64nvme.ts';
import { headerLength, headerLimits, MalformedHeaderError } from '../../../../crypt4gh/index.ts';
import { throwIfInterrupted } from '../../errors.ts';
import type { ReadableTarget } from './part-file.ts';

const readBytes = 1024 * 1024;
/** What holds nearly every header; that of one recipient has 124 bytes. */
const headBytes = 4096;

/** Bytes that were written one behind the other. */
interface Run {
  readonly start: number;
  readonly end: number;
  readonly state: CrcState;
}

/**
 * CRC-64/NVME of a container and SHA-256 of its header. Bytes may be written in any order, each once: the CRC of the whole
 * follows from those of its runs. Only bytes of earlier runs of the client, and the header, are read again.
 */
export class ContainerDigest {
  readonly #part: ReadableTarget;
  readonly #crc: Crc;
  /** By their ends. */
  readonly #runs = new Map<number, Run>();

  constructor(part: ReadableTarget, crc: Crc) {
    this.#part = part;
    this.#crc = crc;
  }

  /** As `PartFile.write`. */
  async write(buffers: readonly Uint8Array[], position: number): Promise<void> {
    const writing = this.#part.write(buffers, position);
    // The disk works meanwhile.
    this.#add(buffers, position);
    await writing;
  }

  /** What the whole part is. @throws LocalDiskError; ClientError `interrupted` */
  async found(
    signal: AbortSignal | undefined,
  ): Promise<{ readonly size: number; readonly crc64nvme: string; readonly headerSha256: string }> {
    const sorted = [...this.#runs.values()].sort((one, other) => one.start - other.start);
    let crc = emptyCrc;
    let position = 0;
    for (const { start, end, state } of sorted) {
      crc = (await this.#rest(crc, { start: position, end: start }, signal)).crc;
      crc = combinedCrc(crc, this.#crc.value(state), end - start);
      position = end;
    }
    const whole = await this.#rest(crc, { start: position, end: Number.MAX_SAFE_INTEGER }, signal);
    return { size: whole.end, crc64nvme: formatCrc(whole.crc), headerSha256: await this.headerSha256() };
  }

  #add(buffers: readonly Uint8Array[], position: number): void {
    const length = buffers.reduce((sum, bytes) => sum + bytes.length, 0);
    if (length === 0) return;
    const before = this.#runs.get(position);
    this.#runs.delete(position);
    const end = position + length;
    this.#runs.set(end, { start: before?.start ?? position, end, state: this.#crc.add(before?.state, buffers) });
  }

  /** `crc` with the bytes of a range behind it, or those up to the end of the part, and where they end. */
  async #rest(crc: bigint, { start, end }: { start: number; end: number }, signal: AbortSignal | undefined) {
    let state: CrcState | undefined;
    let at = start;
    while (at < end) {
      throwIfInterrupted(signal);
      const bytes = await this.#part.read(at, Math.min(readBytes, end - at));
      if (bytes.length === 0) break;
      state = this.#crc.add(state, [bytes]);
      at += bytes.length;
    }
    return { crc: state === undefined ? crc : combinedCrc(crc, this.#crc.value(state), at - start), end: at };
  }

  /** SHA-256 of the header, in hex; empty if the part does not begin with one. @throws LocalDiskError */
  async headerSha256(): Promise<string> {
    const header = await readHeader(this.#part);
    return header === undefined ? '' : headerDigest(header);
  }
}

/** SHA-256 in lower-case hex. */
export function headerDigest(header: Uint8Array): string {
  return createHash('sha256').update(header).digest('hex');
}

/** The Crypt4GH header of a file; `undefined` if it does not begin with one. @throws LocalDiskError */
export async function readHeader(file: {
  read(position: number, length: number): Promise<Uint8Array>;
}): Promise<Uint8Array | undefined> {
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

/** State of a CRC-64/NVME between two runs of bytes. */
export type CrcState = Uint8Array;

/** CRC-64/NVME, the checksum that S3 keeps of every object, in WebAssembly: three times as fast as in JavaScript. */
export interface Crc {
  /** The state after more bytes. @param state before them; `undefined`: they are the first */
  add(state: CrcState | undefined, buffers: readonly Uint8Array[]): CrcState;
  /** 64 bits, not negative. */
  value(state: CrcState): bigint;
}

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
  return {
    add(state, buffers) {
      if (state === undefined) hasher.init();
      else hasher.load(state);
      for (const bytes of buffers) hasher.update(bytes);
      return hasher.save();
    },
    value: (state) => Buffer.from(hasher.load(state).digest('binary')).readBigUInt64BE(),
  };
}
