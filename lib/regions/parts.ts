import { type Block, compressBlocks, mostBlockBytes, nextBlockStart, readBlock } from './blocks/bgzf.ts';
import { LyingFileError } from './errors.ts';
import type { DataFormat } from './formats.ts';
import type { RegionIndex } from './index/region-index.ts';
import {
  type ByteRange,
  comparePlaces,
  firstIndex,
  type Place,
  type PlainSource,
  type VirtualRange,
} from './places.ts';

/** Most bytes of a part of whole containers; a larger container is cut. */
const mostContainerBytes = 64 * 2 ** 20;

/**
 * A function that splits ranges into parts of about so many bytes each, 64 KiB or more. Parts meet where the index names a block.
 * Where it names none near enough, they meet at a nominal place; no index names none.
 */
export function splitter(ranges: readonly VirtualRange[], index?: RegionIndex): (partBytes: number) => VirtualRange[] {
  let collected: Float64Array | undefined;
  const cutBehind = (from: number, partBytes: number) => {
    collected ??= blocksOf(index);
    return index?.namesAllBlocks
      ? containerBehind(from, partBytes, collected)
      : blockBehind(from, partBytes, collected);
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
  /** Bytes of the whole part: of `first`, `middle` and `last` together. */
  readonly size: number;
  /** The rest of a block that the part starts within, compressed again. */
  readonly first: Uint8Array;
  /** Bytes of the file that are sent as they are. */
  readonly middle: ByteRange;
  /** The start of a block that the part ends within, compressed again. */
  readonly last: Uint8Array;
  /** The part in pieces of at most 1 MiB. */
  stream(): AsyncGenerator<Uint8Array>;
}

/**
 * Opens a part: inflates, cuts and compresses again the blocks that it starts or ends within, and finds nominal places. That
 * takes no read for an end at a known block, and one otherwise.
 *
 * @throws RangeError if a place is not in the file. @throws LyingFileError if no block starts there, or if it is too short.
 */
export async function openPart(source: PlainSource, format: DataFormat, range: VirtualRange): Promise<Part> {
  const [start, end] = [await found(source, format, range.start), await found(source, format, range.end)];
  if (comparePlaces(start, end) > 0) throw new LyingFileError('a part ends before it starts');
  const none = new Uint8Array(0);
  if (start.block === end.block) {
    const first =
      start.within < end.within ? cut(await readBlock(source, start.block), start.within, end.within) : none;
    return part(source, first, { start: end.block, end: end.block }, none);
  }
  const opening = start.within > 0 ? await readBlock(source, start.block) : undefined;
  const closing = end.within > 0 ? await readBlock(source, end.block) : undefined;
  const middle = { start: opening?.end ?? start.block, end: end.block };
  if (middle.start > middle.end) throw new LyingFileError(`no block starts at byte ${end.block}`);
  const first = opening ? cut(opening, start.within, opening.data.length) : none;
  return part(source, first, middle, closing ? cut(closing, 0, end.within) : none);
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
  const groups: [VirtualRange, ...VirtualRange[]][] = [];
  for (const range of ranges) {
    const last = groups.at(-1);
    if (last && range.start.block - (last.at(-1)?.end.block ?? 0) <= nearBytes) last.push(range);
    else groups.push([range]);
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
  group: readonly [VirtualRange, ...VirtualRange[]],
): Promise<Uint8Array[]> {
  const start = group[0].start.block;
  const last = (group.at(-1) ?? group[0]).end;
  const end = Math.min(last.block + (last.within > 0 ? mostBlockBytes : 0), source.size);
  const bytes = await source.read(start, Math.max(start, end));
  const inMemory: PlainSource = {
    size: source.size,
    read: async (from, to) => bytes.subarray(from - start, to - start),
  };
  return Promise.all(
    group.map(async (range) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of (await openPart(inMemory, format, range)).stream()) pieces.push(piece);
      return Buffer.concat(pieces);
    }),
  );
}

function part(source: PlainSource, first: Uint8Array, middle: ByteRange, last: Uint8Array): Part {
  async function* stream() {
    if (first.length > 0) yield first;
    for (let at = middle.start; at < middle.end; at += 2 ** 20) {
      yield await source.read(at, Math.min(at + 2 ** 20, middle.end));
    }
    if (last.length > 0) yield last;
  }
  return { size: first.length + middle.end - middle.start + last.length, first, middle, last, stream };
}

function cut(block: Block, from: number, to: number): Uint8Array {
  if (from > block.data.length || to > block.data.length) {
    throw new LyingFileError(
      `the BGZF block at byte ${block.start} has ${block.data.length} bytes, and no ${Math.max(from, to)}`,
    );
  }
  return compressBlocks(block.data.subarray(from, to));
}

async function found(source: PlainSource, format: DataFormat, place: Place): Promise<Place> {
  const { block, within, nominal } = place;
  const limit = format === 'CRAM' ? 0 : 65_535;
  if (!(Number.isSafeInteger(block) && block >= 0 && block <= source.size)) {
    throw new RangeError(`expected an offset within ${source.size} bytes, got ${block}`);
  }
  if (!(Number.isInteger(within) && within >= 0 && within <= limit)) {
    throw new RangeError(`expected a place within a block from 0 to ${limit}, got ${within}`);
  }
  return nominal && format !== 'CRAM' ? { block: await nextBlockStart(source, block), within: 0 } : place;
}

/** Offsets of blocks that the index names, in order. */
function blocksOf(index: RegionIndex | undefined): Float64Array {
  const blocks = new Set<number>();
  index?.eachPlace((block) => blocks.add(block));
  return Float64Array.from(blocks).sort();
}

/** Where a part ends that starts at `from`: at the last known block within its size if that is above half, else nominally. */
function blockBehind(from: number, partBytes: number, known: Float64Array): Place {
  const near = known[firstIndex(known, (block) => block > from + partBytes) - 1] ?? 0;
  if (near > from + partBytes / 2) return { block: near, within: 0 };
  return { block: from + partBytes, within: 0, nominal: true };
}

/** The same where every container is known: at the last one within its size, else behind the first if that is not too large. */
function containerBehind(from: number, partBytes: number, known: Float64Array): Place {
  const behind = firstIndex(known, (block) => block > from + partBytes);
  const [last = 0, next = Number.POSITIVE_INFINITY] = [known[behind - 1], known[behind]];
  const near = last > from ? last : next;
  return near <= from + mostContainerBytes
    ? { block: near, within: 0 }
    : { block: from + partBytes, within: 0, nominal: true };
}
