import { mostBlockBytes, readBlock } from './blocks/bgzf.ts';
import { RegionsError } from './errors.ts';
import { type DataFormat, endMarkers } from './formats.ts';
import type { FileHead } from './head/file-head.ts';
import type { RegionIndex } from './index/region-index.ts';
import type { ByteRange, PlainSource, VirtualOffset, VirtualRange } from './virtual-offsets.ts';

/** Limits of {@link wholeBlockRanges}. */
export interface BlockLimits {
  /** Most ranges, header and end marker included. */
  readonly most: number;
  /** Most bytes that are kept only because no nearer cut is known; default 16 MiB. */
  readonly widestBytes?: number;
}

/** A file whose header and index are read. */
export interface IndexedFile {
  readonly source: PlainSource;
  readonly head: FileHead;
  /** Absent: no place to cut is known but the ends of header and records. */
  readonly index: RegionIndex | undefined;
}

/**
 * The bytes of the file that make a valid file of header, ranges and end marker while no block is changed: sorted, disjoint,
 * each from a record's start at the border of a block to another one. Neighbours are joined until at most `most` are left,
 * so records beside the ranges can be among them.
 *
 * One read looks for the end marker. The index names some records that start a block. Where it names none near enough, one block
 * at this end of the range is opened, to prove that a record ends with it.
 *
 * @throws RegionsError if more than `widestBytes` would be kept only for want of a nearer cut.
 */
export async function wholeBlockRanges(
  { source, head, index }: IndexedFile,
  ranges: readonly VirtualRange[],
  { most, widestBytes = 16 * 2 ** 20 }: BlockLimits,
): Promise<ByteRange[]> {
  if (most < 2) throw new RangeError(`expected at least 2 ranges, got ${most}`);
  const header: VirtualRange = { start: { block: 0, within: 0 }, end: head.end };
  const dataEnd = await endOfRecords(source, head.format);
  const marker: VirtualRange = { start: { block: dataEnd, within: 0 }, end: { block: head.size, within: 0 } };
  const cuts = nearestCuts(head.end, dataEnd, index, joined([header, ...ranges, marker], most));
  const proven = await Promise.all(
    cuts.map(({ before, record, start, end, after }) =>
      Promise.all([
        recordEndBetween(source, head.format, record, { start: before + 1, end: start.block }),
        recordEndBetween(source, head.format, end, { start: end.block, end: after }),
      ]),
    ),
  );
  const kept: ByteRange[] = [];
  for (const [at, { before, after }] of cuts.entries()) {
    const from = proven[at]?.[0] ?? before;
    const to = proven[at]?.[1] ?? after;
    const last = kept.at(-1);
    if (last && from <= last.end) kept[kept.length - 1] = { start: last.start, end: Math.max(last.end, to) };
    else if (from < to) kept.push({ start: from, end: to });
  }
  const wanted = cuts.reduce((sum, { start, end }) => sum + end.block - start.block, 0);
  const widened = kept.reduce((sum, { start, end }) => sum + end - start, -wanted);
  if (widened > widestBytes) {
    throw new RegionsError(`the nearest cuts would add ${widened} bytes, above ${widestBytes}`);
  }
  return kept;
}

/** A range with what the index knows near it. */
interface Cuts extends VirtualRange {
  /** Offset of the last block at or before the start that starts with a record; 0, the file's own start, if none is known. */
  before: number;
  /** The last place before the start's block at which a record starts. */
  record: VirtualOffset;
  /** Offset of the first block at or behind the end that starts with a record, or where the records end. */
  after: number;
}

/** Offset of the end marker, or the size of a file that has none. */
async function endOfRecords(source: PlainSource, format: DataFormat): Promise<number> {
  const marker = endMarkers[format];
  const start = Math.max(0, source.size - marker.length);
  return Buffer.compare(await source.read(start, source.size), marker) === 0 ? start : source.size;
}

function nearestCuts(
  firstRecord: VirtualOffset,
  dataEnd: number,
  index: RegionIndex | undefined,
  ranges: readonly VirtualRange[],
): Cuts[] {
  const cuts = ranges.map(
    ({ start, end }): Cuts => ({
      start,
      end,
      before: start.within === 0 ? start.block : 0,
      record: { block: 0, within: 0 },
      after: end.within === 0 ? end.block : dataEnd,
    }),
  );
  const visit = (block: number, within: number) => {
    for (const cut of cuts) {
      if (within === 0 && block <= cut.start.block && block > cut.before) cut.before = block;
      if (within === 0 && block > cut.end.block && block < cut.after) cut.after = block;
      if (block < cut.start.block && block >= cut.record.block && block > 0) cut.record = { block, within };
    }
  };
  visit(firstRecord.block, firstRecord.within);
  index?.eachPlace(visit);
  return cuts;
}

/**
 * The end of a record's block if a record also ends there. By the chain of records from a known start this is a proof:
 * lengths (SAMv1 § 4.2, VCFv4.3 § 6.3) or lines. Undefined if none ends there, or if the cuts that are known are as near.
 */
async function recordEndBetween(
  source: PlainSource,
  format: DataFormat,
  record: VirtualOffset,
  known: ByteRange,
): Promise<number | undefined> {
  if (known.end - known.start <= mostBlockBytes || record.block < known.start) return undefined;
  const { data, end } = await readBlock(source, record.block);
  if (format === 'VCF') return data.at(-1) === 0x0a ? end : undefined;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  let at = record.within;
  while (at + 8 <= data.length) {
    at += format === 'BAM' ? 4 + view.getUint32(at, true) : 8 + view.getUint32(at, true) + view.getUint32(at + 4, true);
  }
  return at === data.length ? end : undefined;
}

/** At most `most` ranges, joined where the gaps are smallest. */
function joined(ranges: readonly VirtualRange[], most: number): VirtualRange[] {
  const gaps = ranges
    .slice(1)
    .map(({ start }, last) => ({ last, bytes: start.block - (ranges[last]?.end.block ?? 0) }));
  const widest = gaps.toSorted((a, b) => b.bytes - a.bytes).slice(0, most - 1);
  const lasts = new Set([...widest.map(({ last }) => last), ranges.length - 1]);
  const result: VirtualRange[] = [];
  let first: VirtualOffset | undefined;
  for (const [index, { start, end }] of ranges.entries()) {
    first ??= start;
    if (!lasts.has(index)) continue;
    result.push({ start: first, end });
    first = undefined;
  }
  return result;
}
