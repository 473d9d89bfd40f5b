import { ENCRYPTED_SEGMENT_BYTES } from '../sizes.ts';

/**
 * Segments, or pieces of plaintext to become segments, put together in one memory for one message to a thread.
 */
export class SegmentBatch<Note> {
  /** Each piece begins where its segment would: at a multiple of a full segment's bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lengths: number[] = [];
  readonly notes: Note[] = [];
  readonly #capacity: number;

  /** @param capacity pieces it takes. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    // Memory of its own, that can be handed over; not zeroed: what is not written to is not looked at.
    this.bytes = new Uint8Array(Buffer.allocUnsafeSlow(capacity * ENCRYPTED_SEGMENT_BYTES).buffer);
  }

  get full(): boolean {
    return this.lengths.length === this.#capacity;
  }

  get empty(): boolean {
    return this.lengths.length === 0;
  }

  /** Copies the piece: its memory belongs to the source. */
  add(piece: Uint8Array, note: Note): void {
    this.bytes.set(piece, this.lengths.length * ENCRYPTED_SEGMENT_BYTES);
    this.lengths.push(piece.length);
    this.notes.push(note);
  }
}
