import { asBuffer } from '../bytes.ts';
import { MalformedHeaderError } from '../errors.ts';

/** ASCII at the start of every container (Crypt4GH § 2.2). */
const magic = Buffer.from('crypt4gh', 'ascii');
const formatVersion = 1;
/** Magic, version and packet count. */
const preambleBytes = 16;
/** Bytes of a packet's length field. The length includes the field. */
const lengthBytes = 4;
/** Length and encryption method: the smallest packet that can be skipped. */
const minimumPacketBytes = 8;

/** Limits of a header. The standard (Crypt4GH § 3.2) has none; these keep a hostile header from taking memory and time. */
export const headerLimits = {
  /** Most packets of a header; also the limit of the Go implementation. */
  packets: 65_536,
  /** Most bytes of a whole header. */
  bytes: 16 * 1024 * 1024,
  /** Most different writers of packets. Each costs a key agreement for every private key tried; 0.1 s for all. */
  writers: 1_024,
  /** Most data keys for one reader. Each may be tried at every segment; 12 ms for all. */
  dataKeys: 256,
  /** Most lengths in an edit list. As numbers and ranges they take up to thirty times their memory. */
  editListLengths: 262_144,
} as const;

/**
 * Finds the end of a header in bytes that arrive piece by piece. Each field is checked as soon as it has come, before the bytes
 * that it announces. All integers are little-endian (Crypt4GH § 2.2).
 */
export class HeaderScanner {
  /** Start of the next packet, once the preamble is read. */
  #offset = 0;
  #packetsLeft = 0;

  /** Length of the header; `undefined` while more is needed. `bytes` are all bytes of the container so far. */
  scan(bytes: Uint8Array): number | undefined {
    const buffer = asBuffer(bytes);
    if (this.#offset === 0 && !this.#readPreamble(buffer)) return undefined;
    while (this.#packetsLeft > 0) {
      if (buffer.length < this.#offset + lengthBytes) return undefined;
      const length = buffer.readUInt32LE(this.#offset);
      if (length < minimumPacketBytes) {
        throw new MalformedHeaderError('invalid-packet-length', `a header packet claims to be ${length} bytes long`);
      }
      if (this.#offset + length > headerLimits.bytes) {
        throw new MalformedHeaderError('header-too-large', `the header is longer than ${headerLimits.bytes} bytes`);
      }
      this.#offset += length;
      this.#packetsLeft -= 1;
    }
    return buffer.length < this.#offset ? undefined : this.#offset;
  }

  #readPreamble(buffer: Buffer): boolean {
    const present = Math.min(buffer.length, magic.length);
    if (!buffer.subarray(0, present).equals(magic.subarray(0, present))) {
      throw new MalformedHeaderError('bad-magic', 'this is not a Crypt4GH container');
    }
    if (buffer.length >= 12 && buffer.readUInt32LE(8) !== formatVersion) {
      throw new MalformedHeaderError(
        'unsupported-version',
        `Crypt4GH version ${buffer.readUInt32LE(8)} is not supported`,
      );
    }
    if (buffer.length < preambleBytes) return false;
    const count = buffer.readUInt32LE(12);
    if (count > headerLimits.packets) {
      throw new MalformedHeaderError('too-many-packets', `the header claims to have ${count} packets`);
    }
    this.#offset = preambleBytes;
    this.#packetsLeft = count;
    return true;
  }
}

/**
 * Length in bytes of the header at the start of `bytes` (Crypt4GH § 2.2); `undefined` if `bytes` end before the header.
 */
export function headerLength(bytes: Uint8Array): number | undefined {
  return new HeaderScanner().scan(bytes);
}

/** A header in its parts. Packets have no length field here and are not decrypted. */
export interface ParsedHeader {
  readonly packets: readonly Buffer[];
  /** Bytes of the header. */
  readonly length: number;
}

/** Parses the header at the start of `bytes`; bytes after it are ignored. */
export function parseHeader(bytes: Uint8Array): ParsedHeader {
  const length = headerLength(bytes);
  if (length === undefined) throw new MalformedHeaderError('truncated-header', 'the input ends inside the header');
  const buffer = asBuffer(bytes);
  const packets: Buffer[] = [];
  for (let offset = preambleBytes; offset < length; ) {
    const end = offset + buffer.readUInt32LE(offset);
    packets.push(buffer.subarray(offset + lengthBytes, end));
    offset = end;
  }
  return { packets, length };
}

/** The reverse of {@link parseHeader}. */
export function serializeHeader(packets: readonly Uint8Array[]): Buffer {
  const length = packets.reduce((sum, packet) => sum + lengthBytes + packet.length, preambleBytes);
  if (packets.length > headerLimits.packets || length > headerLimits.bytes) {
    throw new RangeError(`a header of ${packets.length} packets and ${length} bytes is beyond the limits`);
  }
  const header = Buffer.alloc(length);
  magic.copy(header);
  header.writeUInt32LE(formatVersion, 8);
  header.writeUInt32LE(packets.length, 12);
  let offset = preambleBytes;
  for (const packet of packets) {
    header.writeUInt32LE(lengthBytes + packet.length, offset);
    header.set(packet, offset + lengthBytes);
    offset += lengthBytes + packet.length;
  }
  return header;
}
