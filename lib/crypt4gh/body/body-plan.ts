import { EditListCursor, type Slice } from '../header/edit-list.ts';
import { SEGMENT_BYTES, segmentOverhead } from '../sizes.ts';
import { BodySizeCheck } from './body-size.ts';
import { damagedSegment } from './segment-decryptor.ts';

/** A segment with wanted bytes. */
export interface PlannedSegment {
  readonly index: number;
  /** The wanted parts of its plaintext, in order. */
  readonly slices: readonly Slice[];
}

/** Walks a body in order: tells the wanted parts of each segment by the edit list, and checks the expected size. */
export class BodyPlan {
  readonly #cursor: EditListCursor | undefined;
  readonly #size: BodySizeCheck | undefined;
  #index = 0;

  constructor(options: {
    readonly editList?: readonly bigint[] | undefined;
    readonly expectedSize?: number | undefined;
  }) {
    const { editList, expectedSize } = options;
    this.#cursor = editList && new EditListCursor(editList);
    this.#size = expectedSize === undefined ? undefined : new BodySizeCheck(expectedSize);
  }

  /** Whether no later segment is wanted. */
  get finished(): boolean {
    return this.#cursor?.finished === true;
  }

  /** Plans the next segment, of `length` bytes; `undefined` if the edit list skips all of it. */
  next(length: number): PlannedSegment | undefined {
    const index = this.#index++;
    if (length < segmentOverhead) throw damagedSegment('truncated-segment', index, length);
    this.#size?.segment(index, length);
    const plain = length - segmentOverhead;
    if (this.#cursor === undefined) return { index, slices: [{ from: 0, to: plain }] };
    const slices = this.#cursor.slices(BigInt(index) * BigInt(SEGMENT_BYTES), plain);
    return slices.length === 0 ? undefined : { index, slices };
  }

  end(): void {
    if (!this.finished) this.#size?.end(this.#index);
  }
}
