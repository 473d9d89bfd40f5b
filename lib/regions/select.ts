import { DataOutError } from '../errors.ts';
import { RegionsError } from './errors.ts';
import { endMarkers } from './formats.ts';
import type { FileHead } from './head/file-head.ts';
import type { Interval, RegionIndex } from './index/region-index.ts';
import { compareOffsets, MergedRanges, type VirtualRange } from './virtual-offsets.ts';

/** Most ranges of one answer. A ticket can name a fifth of them. */
const mostRanges = 2 ** 16;

/** Records that overlap positions [start, end) of a reference, from 0; `*` stands for reads without a reference. */
export interface Region {
  readonly referenceName: string;
  /** Default 0. */
  readonly start?: number;
  /** Default: the end of the reference. */
  readonly end?: number;
}

/**
 * Where the records of the regions lie: sorted, disjoint, none for none. Records beside the regions can be among them.
 * Two ranges never share a block. One that reaches the end of the file also has its end marker.
 *
 * @throws `not_found` if neither header nor index has a reference of that name
 * @throws RegionsError if the index names places outside of the records, so that it belongs to another file.
 */
export function virtualRangesOf(index: RegionIndex, head: FileHead, regions: readonly Region[]): VirtualRange[] {
  const byName = Map.groupBy(regions, ({ referenceName }) => referenceName);
  const inHeader = numbersOf(
    byName,
    head.references.map((reference) => reference?.name),
  );
  const inIndex = index.names ? numbersOf(byName, index.names) : inHeader;
  const intervals = new Map<number, readonly Interval[]>();
  let unplaced = false;
  for (const [name, named] of byName) {
    const number = inIndex.get(name);
    if (name === '*' && (head.format === 'BAM' || head.format === 'CRAM')) unplaced = true;
    else if (number !== undefined) intervals.set(number, intervalsOf(named));
    else if (!inHeader.has(name)) {
      throw new DataOutError('not_found', `the file has no reference sequence ${JSON.stringify(name)}`);
    }
  }
  const marker = { block: head.size - endMarkers[head.format].length, within: 0 };
  const merged = new MergedRanges(mostRanges);
  for (const range of index.rangesOf({ intervals, unplaced }, head)) {
    const { start, end } = range;
    if (compareOffsets(start, head.end) < 0) throw new RegionsError('it names records within the header');
    // No block of records is as short as the end marker.
    const isInFile = compareOffsets(end, marker) <= 0 || (end.block === head.size && end.within === 0);
    if (!isInFile) throw new RegionsError('it names records behind the end of the file');
    merged.add(range);
  }
  return merged.all();
}

/** The numbers of the names that are wanted, in one pass over all names. The first of equal names counts. */
function numbersOf(wanted: ReadonlyMap<string, unknown>, names: readonly (string | undefined)[]): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const [number, name] of names.entries()) {
    if (name !== undefined && wanted.has(name) && !numbers.has(name)) numbers.set(name, number);
  }
  return numbers;
}

/** The positions of regions, sorted and disjoint. */
function intervalsOf(regions: readonly Region[]): Interval[] {
  const intervals: { start: number; end: number }[] = [];
  const all = regions.map(({ start = 0, end = Number.POSITIVE_INFINITY }) => ({ start, end }));
  for (const { start, end } of all.toSorted((a, b) => a.start - b.start)) {
    if (!(start >= 0 && end >= start)) throw new RangeError(`expected a region from 0 up, got ${start} to ${end}`);
    const last = intervals.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else if (start < end) intervals.push({ start, end });
  }
  return intervals;
}
