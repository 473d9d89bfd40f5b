import type { KeptRange } from '../header/edit-list.ts';
import { SEGMENT_BYTES } from '../sizes.ts';

/** Bytes [from, to) of one segment's plaintext. */
export interface SegmentPart {
  readonly index: number;
  readonly from: number;
  readonly to: number;
}

/** Neighbouring segments [first, end) that are fetched together, and their wanted parts in order. */
export interface SegmentRun {
  readonly first: number;
  readonly end: number;
  readonly parts: readonly SegmentPart[];
}

/**
 * Groups ranges of plaintext into runs of neighbouring segments. Each segment is in one run only.
 *
 * @param ranges ascending, not overlapping. What lies beyond `plainSize` is left out.
 * @param options.endsEmpty whether the body ends with an empty segment, which a range up to the end includes.
 * @param options.firstSegments most segments of the first run.
 */
export function* segmentRuns(
  ranges: Iterable<KeptRange>,
  options: {
    readonly plainSize: number;
    readonly endsEmpty?: boolean;
    readonly maximumSegments: number;
    readonly firstSegments: number;
  },
): Generator<SegmentRun, void, undefined> {
  let most = options.firstSegments;
  let first = 0;
  let parts: SegmentPart[] = [];
  for (const part of segmentParts(ranges, options)) {
    const last = parts.at(-1)?.index ?? part.index;
    const joins = part.index === last || (part.index === last + 1 && part.index - first < most);
    if (parts.length > 0 && !joins) {
      yield { first, end: last + 1, parts };
      most = options.maximumSegments;
      parts = [];
    }
    if (parts.length === 0) first = part.index;
    parts.push(part);
  }
  const last = parts.at(-1);
  if (last !== undefined) yield { first, end: last.index + 1, parts };
}

function* segmentParts(
  ranges: Iterable<KeptRange>,
  { plainSize, endsEmpty = false }: { readonly plainSize: number; readonly endsEmpty?: boolean },
): Generator<SegmentPart, void, undefined> {
  const limit = BigInt(plainSize);
  for (const range of ranges) {
    const isToEnd = range.end === undefined || range.end >= limit;
    const end = Number(isToEnd ? limit : range.end);
    for (let position = Number(range.start); position < end; ) {
      const index = Math.floor(position / SEGMENT_BYTES);
      const segmentStart = index * SEGMENT_BYTES;
      const to = Math.min(SEGMENT_BYTES, end - segmentStart);
      yield { index, from: position - segmentStart, to };
      position = segmentStart + to;
    }
    if (!isToEnd) continue;
    if (endsEmpty) yield { index: plainSize / SEGMENT_BYTES, from: 0, to: 0 };
    return;
  }
}
