import { DataOutError } from '../errors.ts';
import { compressBlocks, mostBlockBytes, nextBlockStart, readBlock } from './blocks/bgzf.ts';
import { RegionsError } from './errors.ts';
import type { DataFormat } from './formats.ts';
import type { RegionIndex } from './index/region-index.ts';
import {
  type ByteRange,
  compareOffsets,
  firstIndex,
  type PlainSource,
  type VirtualOffset,
  type VirtualRange,
} from './virtual-offsets.ts';

/** Most bytes of a part of whole containers; a larger container is cut. */
const mostContainerBytes = 64 * 2 ** 20;

/**
 * A function that splits ranges into parts of about so many bytes each, 64 KiB or more. Parts meet at the last block within their
 * size that the index names; where it names none, or without an index, at a nominal place.
 */
export function splitter(ranges: readonly VirtualRange[], index?: RegionIndex): (partBytes: number) => VirtualRange[] {
  let known: Float64Array | undefined;
  const cutBehind = (from: number, partBytes: number): VirtualOffset => {
    known ??= blocksOf(index);
    const behind = firstIndex(known, (block) => block > from + partBytes);
    const [last = 0, next = Number.POSITIVE_INFINITY] = [known[behind - 1], known[behind]];
    if (last > from) return { block: last, within: 0 };
    const isWhole = index?.namesAllBlocks && next <= from + mostContainerBytes;
    return isWhole ? { block: next, within: 0 } : { block: from + partBytes, within: 0, nominal: true };
  };
  return (partBytes) => {
    if (!(partBytes >= 65_536)) throw new RangeError(`expected parts of 65,536 bytes or more, got ${partBytes}`);
    return ranges.flatMap(({ start, end }) => {
      const parts: VirtualRange[] = [];
      let from = start;
      while (end.block - from.block > partBytes) {
        const cut = cutBehind(from.block, partBytes);
        if (cut.block >= end.block) break;
        parts.push({ start: from, end: cut });
        from = cut;
      }
      return [...parts, { start: from, end }];
    });
  };
}

/** A part that is ready to be sent. */
export interface Part {
  readonly size: number;
  /** Bytes [start, end) of the part; default: all. */
  stream(start?: number, end?: number): AsyncGenerator<Uint8Array>;
}

/**
 * Opens a part: inflates, cuts and compresses again the blocks that it starts or ends within, and finds nominal places. That
 * takes no read for an end at a known block, and one otherwise.
 *
 * @throws `not_found` if the file ends before a place. @throws RegionsError if no block starts there, or if it is too short.
 */
export async function openPart(source: PlainSource, format: DataFormat, range: VirtualRange): Promise<Part> {
  const [start, end] = [await found(source, format, range.start), await found(source, format, range.end)];
  if (compareOffsets(start, end) > 0) throw new RegionsError('a part ends before it starts');
  const isOneBlock = start.block === end.block;
  const first = await recompressed(source, start.block, start.within, isOneBlock ? end.within : undefined);
  const last = await recompressed(source, end.block, 0, isOneBlock ? 0 : end.within);
  const middle = { start: isOneBlock ? end.block : first.end, end: end.block };
  if (middle.start > middle.end) throw new RegionsError(`no block starts at byte ${end.block}`);
  return concatenated(source, first.bytes, middle, last.bytes);
}

/** Ranges nearer than this are read as one: a separate read takes about as much. */
const nearBytes = 128 * 1024;
/** Reads at the same time. */
const readsAtOnce = 6;

/** The records of each range in memory. Takes one read for ranges that lie near each other. @throws as {@link openPart} */
export async function readRecords(
  source: PlainSource,
  format: DataFormat,
  ranges: readonly VirtualRange[],
): Promise<Uint8Array[]> {
  const groups: VirtualRange[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const range of ranges) {
    if (range.start.block - end > nearBytes) groups.push([]);
    groups.at(-1)?.push(range);
    end = range.end.block;
  }
  const records: Uint8Array[] = [];
  for (let at = 0; at < groups.length; at += readsAtOnce) {
    const read = groups.slice(at, at + readsAtOnce).map((group) => readGroup(source, format, group));
    records.push(...(await Promise.all(read)).flat());
  }
  return records;
}

async function readGroup(
  source: PlainSource,
  format: DataFormat,
  group: readonly VirtualRange[],
): Promise<Uint8Array[]> {
  const [start, last] = [group[0]?.start.block ?? 0, group.at(-1)?.end ?? { block: 0, within: 0 }];
  const end = Math.min(last.block + (last.within > 0 ? mostBlockBytes : 0), source.size);
  const bytes = await source.read(start, Math.max(start, end));
  const read = async (from: number, to: number) => bytes.subarray(from - start, to - start);
  const inMemory: PlainSource = { size: source.size, read, stream: (from, to) => once(read(from, to)) };
  const parts = await Promise.all(group.map((range) => openPart(inMemory, format, range)));
  return await Promise.all(parts.map(async (part) => Buffer.concat(await Array.fromAsync(part.stream()))));
}

async function* once(bytes: Promise<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield await bytes;
}

/** The pieces one after the other. */
function concatenated(source: PlainSource, first: Uint8Array, middle: ByteRange, last: Uint8Array): Part {
  const middleEnd = first.length + middle.end - middle.start;
  const size = middleEnd + last.length;
  async function* stream(start = 0, end = size) {
    if (start < first.length) yield first.subarray(start, end);
    const [from, to] = [Math.max(start, first.length), Math.min(end, middleEnd)];
    const shift = middle.start - first.length;
    if (from < to) yield* source.stream(from + shift, to + shift);
    if (end > middleEnd) yield last.subarray(Math.max(0, start - middleEnd), end - middleEnd);
  }
  return { size, stream };
}

/** Bytes [from, to) of an inflated block, compressed again, and the offset behind the block. A block of which none is cut is not read. */
async function recompressed(
  source: PlainSource,
  block: number,
  from: number,
  to: number | undefined,
): Promise<{ readonly bytes: Uint8Array; readonly end: number }> {
  if (from === (to ?? 0)) return { bytes: new Uint8Array(), end: block };
  const { data, end } = await readBlock(source, block);
  const cut = Math.max(from, to ?? 0);
  if (cut > data.length) {
    throw new RegionsError(`the BGZF block at byte ${block} has ${data.length} bytes, and no ${cut}`);
  }
  return { bytes: compressBlocks(data.subarray(from, to)), end };
}

/** The place itself, or the block start that a nominal one stands for. */
async function found(source: PlainSource, format: DataFormat, place: VirtualOffset): Promise<VirtualOffset> {
  const { block, within, nominal } = place;
  const mostWithin = format === 'CRAM' ? 0 : mostBlockBytes - 1;
  const isInFile = [block, within].every((at) => Number.isSafeInteger(at) && at >= 0);
  if (!isInFile || block > source.size || within > mostWithin)
    throw new DataOutError('not_found', 'the file has no such part');
  return nominal && format !== 'CRAM' ? { block: await nextBlockStart(source, block), within: 0 } : place;
}

/** Offsets of blocks that the index names, in order; some more than once. A set of millions would take half a gigabyte. */
function blocksOf(index: RegionIndex | undefined): Float64Array {
  let count = 0;
  index?.eachPlace(() => count++);
  const blocks = new Float64Array(count);
  index?.eachPlace((block) => {
    blocks[--count] = block;
  });
  return blocks.sort();
}
