import { editListOf, joinedRanges, type KeptRange, selectKept } from '../header/edit-list.ts';
import { decryptedSize, ENCRYPTED_SEGMENT_BYTES, SEGMENT_BYTES } from '../sizes.ts';

/** Bytes [start, end) of the plaintext after the edit list (Crypt4GH § 4.2); without `end`: to the end. */
export interface VisibleRange {
  readonly start: number;
  readonly end?: number | undefined;
}

/** How to cut a smaller container out of a container (Crypt4GH § 4.2). */
export interface Rearrangement {
  /**
   * The ranges of the old body that make the new one, in ascending order, neighbours joined. Without `end`: to the end of the
   * body.
   */
  readonly bodyRanges: readonly { readonly start: number; readonly end: number | undefined }[];
  /** The edit list of the new header; `undefined`: none is needed. */
  readonly editList: readonly bigint[] | undefined;
}

const segmentBytes = BigInt(SEGMENT_BYTES);
/** Where the plaintext of a body of 2^53 - 1 bytes ends. No file is longer, so an end beyond it counts as open. */
const openEnd = BigInt(Math.floor(Number.MAX_SAFE_INTEGER / ENCRYPTED_SEGMENT_BYTES)) * segmentBytes;

/**
 * Finds the segments that ranges need, and the edit list that leaves exactly the ranges (Crypt4GH § 4.1, § 4.2). Nothing is
 * decrypted: the segments stay as they are.
 *
 * @param options.ranges in any order. Bytes in several ranges are taken once. The new plaintext is in the order of the file.
 * @param options.editList the edit list of the old header; the new edit list includes its effect.
 * @param options.bodySize bytes of the old body. With it, the result ends at the end of the body. Default: not known.
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
  const limit = bodySize ?? Number.POSITIVE_INFINITY;
  return {
    bodyRanges: runs.map(({ first, end }) => ({
      start: Number(first) * ENCRYPTED_SEGMENT_BYTES,
      end: end === undefined ? undefined : Math.min(Number(end) * ENCRYPTED_SEGMENT_BYTES, limit),
    })),
    editList: keepsAll(moved, length) ? undefined : editListOf(moved),
  };
}

export function keptRange({ start, end }: VisibleRange): KeptRange {
  const valid = (position: number) => Number.isSafeInteger(position) && position >= 0;
  if (!valid(start) || (end !== undefined && (!valid(end) || end < start))) {
    throw new RangeError(
      `expected a range of whole numbers that does not end before it starts, got ${start} to ${end}`,
    );
  }
  return { start: BigInt(start), end: end === undefined ? undefined : BigInt(end) };
}

/** Cuts a range to a plaintext of that size; nothing is left of a range beyond it. */
function within(plainSize: bigint | undefined): (range: KeptRange) => KeptRange[] {
  const limit = plainSize ?? openEnd;
  return ({ start, end }) => {
    if (start >= limit) return [];
    if (end !== undefined && end <= limit) return [{ start, end }];
    return [{ start, end: plainSize }];
  };
}

/** Neighbouring segments [first, end); without `end`: to the last one. */
interface SegmentRun {
  readonly first: bigint;
  end: bigint | undefined;
}

/**
 * The runs of segments that hold the ranges; `moved`: the ranges as positions in the plaintext of these runs; `length`: the
 * bytes of that plaintext, if they are known.
 */
function compact(kept: readonly KeptRange[], plainSize: bigint | undefined) {
  const runs: SegmentRun[] = [];
  const moved: KeptRange[] = [];
  /** Bytes of plaintext before the current run that are left out. */
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
  // Ranges that were apart may touch now.
  return { runs, moved: joinedRanges(moved), length };
}

function keepsAll(kept: readonly KeptRange[], length: bigint | undefined): boolean {
  const [only, ...others] = kept;
  // Without segments there is no plaintext to skip.
  if (only === undefined) return true;
  return others.length === 0 && only.start === 0n && only.end === length;
}
