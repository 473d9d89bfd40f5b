import { EditListCursor, type Slice } from '../header/edit-list.ts';
import { SEGMENT_BYTES, segmentOverhead } from '../sizes.ts';
import { BodySizeCheck } from './body-size.ts';
import { damagedSegment } from './segment-decryptor.ts';

/** A segment of which something is wanted. */
export interface PlannedSegment {
  readonly index: number;
  /** What is wanted of its plaintext, in order. */
  readonly slices: readonly Slice[];
}

/** Goes along a body in order and says what is wanted of each segment, by edit list and expected size. */
export class BodyPlan {
  readonly #cursor: EditListCursor | undefined;
  readonly #size: BodySizeCheck | undefined;
  #index = 0;

  /** @throws RangeError when the size is no size or a length in the edit list is negative. */
  constructor(options: {
    readonly editList?: readonly bigint[] | undefined;
    readonly expectedSize?: number | undefined;
  }) {
    const { editList, expectedSize } = options;
    this.#cursor = editList && new EditListCursor(editList);
    this.#size = expectedSize === undefined ? undefined : new BodySizeCheck(expectedSize);
  }

  /** Whether nothing of what comes after the segments seen so far is wanted. */
  get finished(): boolean {
    return this.#cursor?.finished === true;
  }

  /**
   * The next segment, of so many bytes; `undefined` when the edit list skips it whole.
   *
   * @throws DamagedBodyError when no segment of that length can stand there.
   */
  next(length: number): PlannedSegment | undefined {
    const index = this.#index++;
    if (length < segmentOverhead) throw damagedSegment('truncated-segment', index, length);
    this.#size?.segment(index, length);
    const plain = length - segmentOverhead;
    if (this.#cursor === undefined) return { index, slices: [{ from: 0, to: plain }] };
    const slices = this.#cursor.slices(BigInt(index) * BigInt(SEGMENT_BYTES), plain);
    return slices.length === 0 ? undefined : { index, slices };
  }

  /** @throws DamagedBodyError when the body must not end here. */
  end(): void {
    if (!this.finished) this.#size?.end(this.#index);
  }
}
