import { readFileSync } from 'node:fs';
import { crc32, deflateRawSync, gunzipSync } from 'node:zlib';
import {
  type DataFormat,
  type FileHead,
  formatOf,
  openPart,
  type PlainSource,
  type RegionIndex,
  readHead,
  readIndex,
  type VirtualRange,
} from '../../lib/regions/index.ts';

const folder = new URL('../vectors/regions/', import.meta.url);

/** A file of `test/vectors/regions`. */
export function vector(name: string): Buffer {
  return readFileSync(new URL(name, folder));
}

/** A file in memory that refuses reads beyond its end, and counts reads and their bytes. */
export function memory(bytes: Uint8Array): PlainSource & { bytesRead: number; reads: number } {
  return {
    size: bytes.length,
    bytesRead: 0,
    reads: 0,
    async read(start, end) {
      if (!(start >= 0 && start <= end && end <= bytes.length)) throw new Error(`no bytes ${start} to ${end}`);
      this.reads += 1;
      this.bytesRead += end - start;
      return bytes.subarray(start, end);
    },
    async *stream(start, end) {
      for (let at = start; at < end; at += 65_536) yield await this.read(at, Math.min(at + 65_536, end));
    },
  };
}

/** Bytes as a stream in pieces, 64 KiB by default. */
export async function* streamed(bytes: Uint8Array, piece = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
}

/** Data file and index, opened. */
export async function opened(
  data: string,
  index: string,
): Promise<{ source: ReturnType<typeof memory>; format: DataFormat; head: FileHead; index: RegionIndex }> {
  const source = memory(vector(data));
  const format = formatOf(data)!;
  return { source, format, head: await readHead(source, format), index: await readIndex(streamed(vector(index))) };
}

/** The bytes of parts, joined. The size that each part announces is checked. */
export async function joined(
  source: PlainSource,
  format: DataFormat,
  ranges: readonly VirtualRange[],
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (const range of ranges) {
    const part = await openPart(source, format, range);
    const before = pieces.length;
    for await (const piece of part.stream()) pieces.push(piece);
    const sent = pieces.slice(before).reduce((sum, { length }) => sum + length, 0);
    if (sent !== part.size) throw new Error(`a part of ${part.size} bytes has ${sent}`);
  }
  return Buffer.concat(pieces);
}

/** A record of a file: its name, and the positions [start, end) that it covers, from 0. */
export interface Named {
  readonly name: string;
  readonly reference: string;
  readonly start: number;
  readonly end: number;
}

/** Records of whole BAM, BCF or VCF bytes, by code that shares nothing with what is tested. */
export function recordsOf(format: DataFormat, compressed: Uint8Array): Named[] {
  const plain = compressed.length === 0 ? Buffer.alloc(0) : gunzipSync(compressed);
  if (format === 'BAM') return bamRecords(plain);
  return format === 'BCF' ? bcfRecords(plain) : vcfRecords(plain);
}

function bamRecords(plain: Buffer): Named[] {
  let at = 8 + plain.readInt32LE(4);
  const names: string[] = [];
  const count = plain.readInt32LE(at);
  at += 4;
  for (let each = 0; each < count; each++) {
    const length = plain.readInt32LE(at);
    names.push(plain.toString('latin1', at + 4, at + 3 + length));
    at += 8 + length;
  }
  const records: Named[] = [];
  for (; at < plain.length; at += 4 + plain.readInt32LE(at)) {
    const [reference, start, nameBytes, operations] = [
      plain.readInt32LE(at + 4),
      plain.readInt32LE(at + 8),
      plain.readUInt8(at + 12),
      plain.readUInt16LE(at + 16),
    ];
    let end = start;
    for (let each = 0; each < operations; each++) {
      const operation = plain.readUInt32LE(at + 36 + nameBytes + each * 4);
      // M, D, N, = and X cover positions (SAMv1 § 1.4).
      if ([0, 2, 3, 7, 8].includes(operation & 15)) end += operation >>> 4;
    }
    const name = plain.toString('latin1', at + 36, at + 35 + nameBytes);
    records.push({ name, reference: names[reference] ?? '*', start, end: Math.max(end, start + 1) });
  }
  return records;
}

function bcfRecords(plain: Buffer): Named[] {
  const bytes = plain.readUInt32LE(5);
  const names = [...plain.toString('latin1', 9, 9 + bytes).matchAll(/##contig=<ID=(\w+)/g)].map(([, name]) => name!);
  const records: Named[] = [];
  for (let at = 9 + bytes; at < plain.length; ) {
    const [shared, genotypes, reference, start, length] = [0, 4, 8, 12, 16].map((field) =>
      plain.readInt32LE(at + field),
    );
    // A typed string: its length is in the upper four bits (VCFv4.3 § 6.3.3).
    const name = plain.toString('latin1', at + 33, at + 33 + (plain.readUInt8(at + 32) >> 4));
    records.push({ name, reference: names[reference!]!, start: start!, end: start! + length! });
    at += 8 + shared! + genotypes!;
  }
  return records;
}

function vcfRecords(plain: Buffer): Named[] {
  const lines = plain
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const [reference, position, name, bases] = line.split('\t');
    return {
      name: name!,
      reference: reference!,
      start: Number(position) - 1,
      end: Number(position) - 1 + bases!.length,
    };
  });
}

/** Bytes of a usual block. */
const usualBytes = 65_280;

/** Plain bytes in BGZF blocks of the given sizes, or of the usual one, without an end marker, and where each block starts. */
export function bgzf(
  plain: Uint8Array,
  sizes: readonly number[] = Array.from({ length: Math.ceil(plain.length / usualBytes) }, () => usualBytes),
  level = 6,
): { bytes: Buffer; starts: number[] } {
  const blocks: Buffer[] = [];
  const starts: number[] = [];
  let offset = 0;
  let at = 0;
  for (const size of sizes) {
    const piece = plain.subarray(at, at + size);
    const deflated = deflateRawSync(piece, { level });
    const block = Buffer.concat([
      Buffer.from('1f8b08040000000000ff0600424302000000', 'hex'),
      deflated,
      words(crc32(piece), piece.length),
    ]);
    block.writeUInt16LE(block.length - 1, 16);
    blocks.push(block);
    starts.push(offset);
    offset += block.length;
    at += size;
  }
  return { bytes: Buffer.concat(blocks), starts };
}

/** Unsigned numbers of 32 bits, little-endian. */
export function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value >>> 0, index * 4);
  return bytes;
}

/** A virtual offset as an index holds it. */
export function offset(block: number, within = 0): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(block) * 65_536n + BigInt(within));
  return bytes;
}

type Chunk = readonly [start: Buffer, end: Buffer];

/** A BAI of one reference with one bin. */
export function bai(bin: number, ...chunks: readonly Chunk[]): Buffer {
  return bais([bin, ...chunks]);
}

/** A BAI of one reference. */
export function bais(...bins: readonly (readonly [bin: number, ...chunks: readonly Chunk[]])[]): Buffer {
  const filled = bins.flatMap(([bin, ...chunks]) => [words(bin, chunks.length), ...chunks.flat()]);
  return Buffer.concat([Buffer.from('BAI\x01'), words(1, bins.length), ...filled, words(0)]);
}

/** A BAM header with one reference `one`. */
export function bamHeader(text = '@HD\tVN:1.6\n'): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([
    Buffer.from('BAM\x01'),
    words(bytes.length),
    bytes,
    words(1, 4),
    Buffer.from('one\0'),
    words(1000),
  ]);
}
