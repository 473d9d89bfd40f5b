import { editListOf, joinedRanges, type KeptRange, selectKept } from '../header/edit-list.ts';
import { decryptedSize, ENCRYPTED_SEGMENT_BYTES, SEGMENT_BYTES } from '../sizes.ts';
import { type BodyPosition, bodyPosition } from './positions.ts';

/** Bytes [start, end) of what a reader sees, after the edit list (Crypt4GH § 4.2); without `end`: to the end. */
export interface VisibleRange {
  readonly start: number;
  readonly end?: number | undefined;
}

/** How to make a container of less from a container (Crypt4GH § 4.2). */
export interface Rearrangement {
  /**
   * What to take of the old body, in ascending order, neighbours joined; one after the other it is the new body. Without
   * `end`: to the end of the body.
   */
  readonly bodyRanges: readonly { readonly start: BodyPosition; readonly end: BodyPosition | undefined }[];
  /** The edit list of the new header, over the new plaintext; `undefined`: none is needed. */
  readonly editList: readonly bigint[] | undefined;
}

const segmentBytes = BigInt(SEGMENT_BYTES);
/** Where a body of 2^53 - 1 bytes ends: no file has plaintext there, so an end beyond it is an open end. */
const openEnd = BigInt(Math.floor(Number.MAX_SAFE_INTEGER / ENCRYPTED_SEGMENT_BYTES)) * segmentBytes;

/**
 * Finds the segments that ranges need, and the edit list that makes them exact (Crypt4GH § 4.1, § 4.2). Nothing is
 * decrypted: the segments stay as they are.
 *
 * @param options.ranges in any order; where they overlap, the bytes are taken once. The new plaintext is in the order of
 * the file.
 * @param options.editList the edit list of the old header. The new one takes it in.
 * @param options.bodySize bytes of the old body; with it the result ends where the body does. Default: not known.
 * @throws RangeError for ranges that are none; DamagedBodyError `truncated-segment` when no body has that size.
 */
export function planRearrangement(options: {
  readonly ranges: readonly VisibleRange[];
  readonly editList?: readonly bigint[] | undefined;
  readonly bodySize?: number | undefined;
}): Rearrangement {
  const { ranges, editList, bodySize } = options;
  const plainSize = bodySize === undefined ? undefined : BigInt(decryptedSize(bodySize));
  const kept = joinedRanges([...selectKept(editList, joinedRanges(ranges.map(keptRange)))].flatMap(within(plainSize)));
  const { runs, moved, length } = compact(kept, plainSize);
  return {
    bodyRanges: runs.map(({ first, end }) => ({
      start: bodyPosition(Number(first) * ENCRYPTED_SEGMENT_BYTES),
      end: end === undefined ? undefined : bodyEnd(Number(end) * ENCRYPTED_SEGMENT_BYTES, bodySize),
    })),
    editList: keepsAll(moved, length) ? undefined : editListOf(moved),
  };
}

/** @throws RangeError for positions that are none. */
export function keptRange({ start, end }: VisibleRange): KeptRange {
  const valid = (position: number) => Number.isSafeInteger(position) && position >= 0;
  if (!valid(start) || (end !== undefined && (!valid(end) || end < start))) {
    throw new RangeError(
      `expected a range of whole numbers that does not end before it starts, got ${start} to ${end}`,
    );
  }
  return { start: BigInt(start), end: end === undefined ? undefined : BigInt(end) };
}

/** Cuts a range to a plaintext of that size; of one beyond it nothing is left. */
function within(plainSize: bigint | undefined): (range: KeptRange) => KeptRange[] {
  const limit = plainSize ?? openEnd;
  return ({ start, end }) => {
    if (start >= limit) return [];
    if (end !== undefined && end <= limit) return [{ start, end }];
    return [{ start, end: plainSize }];
  };
}

/** Segments [first, end) next to each other; without `end`: to the last one. */
interface SegmentRun {
  readonly first: bigint;
  end: bigint | undefined;
}

/**
 * The runs of segments that hold the ranges, the same ranges as positions in those segments put together, and the
 * length of these where it is known.
 */
function compact(kept: readonly KeptRange[], plainSize: bigint | undefined) {
  const runs: SegmentRun[] = [];
  const moved: KeptRange[] = [];
  /** Plaintext that stands before the current run and is not taken over. */
  let removed = 0n;
  for (const { start, end } of kept) {
    const first = start / segmentBytes;
    const segmentEnd = end === undefined ? undefined : (end + segmentBytes - 1n) / segmentBytes;
    const last = runs.at(-1);
    const lastEnd = last?.end ?? 0n;
    if (last !== undefined && lastEnd >= first) {
      last.end = segmentEnd;
    } else {
      removed += (first - lastEnd) * segmentBytes;
      runs.push({ first, end: segmentEnd });
    }
    moved.push({ start: start - removed, end: end === undefined ? undefined : end - removed });
  }
  const end = (runs.at(-1)?.end ?? 0n) * segmentBytes;
  const length = plainSize === undefined ? undefined : (end < plainSize ? end : plainSize) - removed;
  // Ranges that stood apart may touch now.
  return { runs, moved: joinedRanges(moved), length };
}

function keepsAll(kept: readonly KeptRange[], length: bigint | undefined): boolean {
  const [only, ...others] = kept;
  // No segment, no plaintext: nothing is left to hide.
  if (only === undefined) return true;
  return others.length === 0 && only.start === 0n && only.end === length;
}

function bodyEnd(end: number, bodySize: number | undefined): BodyPosition {
  return bodyPosition(bodySize === undefined ? end : Math.min(end, bodySize));
}
