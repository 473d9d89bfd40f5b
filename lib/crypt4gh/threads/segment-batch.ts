import { ENCRYPTED_SEGMENT_BYTES } from '../sizes.ts';

/**
 * Segments, or pieces of plaintext that become segments, in one memory for one message to a thread.
 */
export class SegmentBatch<Note> {
  /** Each piece begins at a multiple of the bytes of a full encrypted segment. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lengths: number[] = [];
  readonly notes: Note[] = [];
  readonly #capacity: number;

  /** @param capacity most pieces. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    // Separate memory, which can be transferred. It is not zeroed: only written bytes are read.
    this.bytes = new Uint8Array(Buffer.allocUnsafeSlow(capacity * ENCRYPTED_SEGMENT_BYTES).buffer);
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
