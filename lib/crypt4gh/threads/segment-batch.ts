import { ENCRYPTED_SEGMENT_BYTES } from '../sizes.ts';

/** The memory of a batch. It goes to a thread and comes back. */
export type BatchMemory = Uint8Array<ArrayBuffer>;

/**
 * Segments, or pieces of plaintext that become segments, in one memory for one message to a thread.
 */
export class SegmentBatch<Note> {
  /** Each piece begins at a multiple of the bytes of a full encrypted segment. */
  readonly bytes: BatchMemory;
  readonly lengths: number[] = [];
  readonly notes: Note[] = [];
  readonly #capacity: number;

  /** @param capacity most pieces. @param memory of an earlier batch of that capacity, to be used again. */
  constructor(capacity: number, memory?: BatchMemory) {
    this.#capacity = capacity;
    // Separate memory, which can be transferred. It is not zeroed: only written bytes are read.
    this.bytes = memory ?? new Uint8Array(Buffer.allocUnsafeSlow(capacity * ENCRYPTED_SEGMENT_BYTES).buffer);
  }

  get full(): boolean {
    return this.lengths.length === this.#capacity;
  }

  get empty(): boolean {
    return this.lengths.length === 0;
  }

  /** Adds a copy of the piece: its memory belongs to the source. */
  add(piece: Uint8Array, note: Note): void {
    this.bytes.set(piece, this.lengths.length * ENCRYPTED_SEGMENT_BYTES);
    this.lengths.push(piece.length);
    this.notes.push(note);
  }
}
