import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { RegionsError } from '../errors.ts';
import type { PlainSource } from '../virtual-offsets.ts';

/** Most bytes of a BGZF block, compressed or inflated (SAMv1 § 4.1). */
export const mostBlockBytes = 65_536;
/** What most blocks of reads and variants have. */
const usualBlockBytes = 32 * 1024;
/** What htslib puts into one block, so that it fits even if it does not compress. */
const filledBlockBytes = 0xff00;
/** A gzip header with the one extra field `BC` that all known writers use (SAMv1 § 4.1). */
const headerBytes = 18;
/** CRC-32 and inflated size behind the compressed data (RFC 1952 § 2.3.1). */
const footerBytes = 8;

/** One inflated block. */
export interface Block {
  /** Its offset in the file. */
  readonly start: number;
  /** The offset behind it. */
  readonly end: number;
  readonly data: Uint8Array;
}

/**
 * Size of the block that starts at `at`, by its header (SAMv1 § 4.1). Undefined if no block starts there or if its header
 * is cut off. Other extra fields may stand before `BC`.
 */
export function blockSizeAt(bytes: Uint8Array, at: number): number | undefined {
  if (bytes[at] !== 0x1f || bytes[at + 1] !== 0x8b || bytes[at + 2] !== 8 || bytes[at + 3] !== 4) return undefined;
  const extraEnd = at + 12 + u16(bytes, at + 10);
  for (let field = at + 12; field + 4 <= Math.min(extraEnd, bytes.length); ) {
    const length = u16(bytes, field + 2);
    if (bytes[field] === 0x42 && bytes[field + 1] === 0x43 && length === 2) {
      if (field + 6 > Math.min(extraEnd, bytes.length)) return undefined;
      const size = u16(bytes, field + 4) + 1;
      return size >= extraEnd - at + footerBytes ? size : undefined;
    }
    field += 4 + length;
  }
  return undefined;
}

/** Inflates the block at `at` of `bytes`, whose offset in the file is `offset`. @throws RegionsError if it is damaged. */
export function inflateBlock(bytes: Uint8Array, at: number, offset: number): Block {
  const size = blockSizeAt(bytes, at);
  if (size === undefined) throw new RegionsError(`no BGZF block starts at byte ${offset}`);
  if (at + size > bytes.length) throw new RegionsError(`the BGZF block at byte ${offset} is cut off`);
  const footer = at + size - footerBytes;
  let data: Uint8Array;
  try {
    const deflated = bytes.subarray(at + 12 + u16(bytes, at + 10), footer);
    data = inflateRawSync(deflated, { maxOutputLength: mostBlockBytes });
  } catch {
    throw new RegionsError(`the BGZF block at byte ${offset} does not inflate to at most ${mostBlockBytes} bytes`);
  }
  if (u32(bytes, footer) !== crc32(data) || u32(bytes, footer + 4) !== data.length) {
    throw new RegionsError(`the BGZF block at byte ${offset} has another checksum or size than it says`);
  }
  return { start: offset, end: offset + size, data };
}

/**
 * Reads and inflates the block at `offset`: one read for most blocks, two for one that hardly compresses.
 *
 * @throws RegionsError if none starts there, or if it is damaged.
 */
export async function readBlock(source: PlainSource, offset: number): Promise<Block> {
  const first = await source.read(offset, Math.min(offset + usualBlockBytes, source.size));
  const missing = Math.min(offset + (blockSizeAt(first, 0) ?? 0), source.size) - (offset + first.length);
  if (missing <= 0) return inflateBlock(first, 0, offset);
  const rest = await source.read(offset + first.length, offset + first.length + missing);
  return inflateBlock(Buffer.concat([first, rest]), 0, offset);
}

/** Every block from the start of the file, at most `limit` bytes of it. @throws RegionsError beyond the limit. */
export async function* blocksOf(source: PlainSource, limit: number): AsyncGenerator<Block> {
  let bytes: Uint8Array = new Uint8Array(0);
  let start = 0;
  for (let offset = 0; offset < source.size; ) {
    if (offset >= limit) throw new RegionsError(`the header does not end within ${limit} bytes`);
    if (offset + mostBlockBytes > start + bytes.length && start + bytes.length < source.size) {
      bytes = await source.read(offset, Math.min(offset + 4 * mostBlockBytes, source.size));
      start = offset;
    }
    const block = inflateBlock(bytes, offset - start, offset);
    yield block;
    offset = block.end;
  }
}

/** The bytes as BGZF blocks (SAMv1 § 4.1); no block for no bytes. */
export function compressBlocks(data: Uint8Array): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (let at = 0; at < data.length; at += filledBlockBytes) {
    const piece = data.subarray(at, at + filledBlockBytes);
    const deflated = deflateRawSync(piece);
    const block = Buffer.alloc(headerBytes + deflated.length + footerBytes);
    block.set([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 0x42, 0x43, 2, 0]);
    block.writeUInt16LE(block.length - 1, 16);
    block.set(deflated, headerBytes);
    block.writeUInt32LE(crc32(piece), block.length - 8);
    block.writeUInt32LE(piece.length, block.length - 4);
    blocks.push(block);
  }
  return Buffer.concat(blocks);
}

/**
 * The first start of a block at or after `offset`, or the end of the file. A start is believed if blocks follow each other
 * from there through the next 128 KiB: bytes within a block that look like a header end sooner, at the block's own end.
 *
 * @throws RegionsError if no block starts within 64 KiB.
 */
export async function nextBlockStart(source: PlainSource, offset: number): Promise<number> {
  if (offset >= source.size) return source.size;
  const bytes = await source.read(offset, Math.min(offset + 3 * mostBlockBytes, source.size));
  for (let at = 0; at < Math.min(mostBlockBytes, bytes.length); at++) {
    if (bytes[at] === 0x1f && blocksFollow(bytes, at)) return offset + at;
  }
  if (offset + bytes.length === source.size && bytes.length < mostBlockBytes) return source.size;
  throw new RegionsError(`no BGZF block starts within ${mostBlockBytes} bytes of byte ${offset}`);
}

function blocksFollow(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (at + headerBytes <= bytes.length) {
    const size = blockSizeAt(bytes, at);
    if (size === undefined) return false;
    at += size;
  }
  return at > from;
}

function u16(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}

function u32(bytes: Uint8Array, at: number): number {
  return (u16(bytes, at) | (u16(bytes, at + 2) << 16)) >>> 0;
}
