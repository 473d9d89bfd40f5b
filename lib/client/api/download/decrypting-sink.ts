import {
  DamagedBodyError,
  decryptedSize,
  ENCRYPTED_SEGMENT_BYTES,
  headerLength,
  openHeader,
  SEGMENT_BYTES,
  type SegmentCipher,
} from '../../../crypt4gh/index.ts';
import { giveBack } from '../read-memory.ts';
import { headerDigest } from './disk/container-digest.ts';
import type { Target } from './disk/part-file.ts';
import { KeptPlaintext } from './kept-plaintext.ts';
import type { Edit, Sink } from './sink.ts';

/** Segments that are decrypted and written at once: 1 MiB. */
const batchSegments = 16;

export interface DecryptingSinkOptions {
  readonly part: Target;
  /** Bytes of the container. */
  readonly size: number;
  readonly privateKeys: readonly Uint8Array[];
  readonly cipher: Pick<SegmentCipher, 'decryptSegments'>;
  /** Whether the part leaves out what an edit list skips; default: it is the whole plaintext, and {@link DecryptingSink.edit} does. */
  readonly edited?: boolean | undefined;
  /** Gets the header, at 0, and then the segments that authenticate, as they are in the container. */
  readonly passing?: ((bytes: Uint8Array, position: number) => void) | undefined;
  /** Called for each segment that does not authenticate; nothing of it is kept. */
  readonly damaged: (segment: number, start: number, end: number) => void;
}

/**
 * Writes the plaintext of a container. Each segment stands alone (Crypt4GH § 3.4.2), so segments may come in any order once
 * the header exists. Only bytes that have authenticated are written.
 */
export class DecryptingSink implements Sink {
  readonly unit = ENCRYPTED_SEGMENT_BYTES;
  readonly #options: DecryptingSinkOptions;
  #opened:
    | {
        readonly start: number;
        readonly dataKeys: readonly Uint8Array[];
        readonly kept: KeptPlaintext;
        readonly edit: Edit | undefined;
      }
    | undefined;

  constructor(options: DecryptingSinkOptions) {
    this.#options = options;
  }

  get needsHead(): boolean {
    return this.#opened === undefined;
  }

  get start(): number {
    return this.#opened?.start ?? 0;
  }

  get edit(): Edit | undefined {
    return this.#opened?.edit;
  }

  get partSize(): number {
    return this.#opened?.kept.size ?? 0;
  }

  /** @throws MalformedHeaderError, NoMatchingKeyError; DamagedBodyError if no body has the size; as `Sink.take` */
  async take(
    position: number,
    bytes: AsyncIterable<Uint8Array>,
    kept: (start: number, end: number) => void,
  ): Promise<void> {
    const iterator = bytes[Symbol.asyncIterator]();
    try {
      let at = position;
      let first: Uint8Array | undefined;
      if (this.needsHead) {
        const body = await this.#readHead(iterator);
        if (body === undefined) return;
        first = body;
        at = this.start;
      }
      await this.#takeSegments(at, first, iterator, kept);
    } finally {
      await iterator.return?.();
    }
  }

  close(): void {
    for (const key of this.#opened?.dataKeys ?? []) key.fill(0);
  }

  /** @returns the bytes after the header that have come; `undefined` if the header does not end in these bytes */
  async #readHead(iterator: AsyncIterator<Uint8Array>): Promise<Uint8Array | undefined> {
    const { size, privateKeys, edited, passing } = this.#options;
    let head = Buffer.alloc(0);
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      head = Buffer.concat([head, next.value]);
      const length = headerLength(head);
      if (length === undefined) continue;
      const header = head.subarray(0, length);
      const { dataKeys, editList } = openHeader(header, privateKeys);
      const plainSize = decryptedSize(size - length);
      const cut = editList && new KeptPlaintext(plainSize, editList);
      const kept = (edited && cut) || new KeptPlaintext(plainSize, undefined);
      const edit = cut && { ranges: cut.ranges, size: cut.size, headerSha256: headerDigest(header) };
      passing?.(header, 0);
      this.#opened = { start: length, dataKeys, kept, edit };
      return head.subarray(length);
    }
    return undefined;
  }

  async #takeSegments(
    position: number,
    first: Uint8Array | undefined,
    rest: AsyncIterator<Uint8Array>,
    kept: (start: number, end: number) => void,
  ): Promise<void> {
    let at = position;
    let working: Promise<void> | undefined;
    const batch = new Batch();
    const work = async (buffer: Buffer) => {
      const start = at;
      at += buffer.length;
      await working;
      working = this.#decrypt(start, buffer, kept);
      // Awaited before the next batch, or at the end.
      working.catch(() => undefined);
    };
    try {
      for (let chunk = first ?? (await rest.next()).value; chunk !== undefined; chunk = (await rest.next()).value) {
        for (const full of batch.push(chunk as Uint8Array)) await work(full);
        giveBack([chunk as Uint8Array]);
      }
    } finally {
      // An incomplete segment cannot be used. The last one may be shorter.
      const isEnd = at + batch.held === this.#options.size;
      await work(batch.rest(isEnd));
      await working;
    }
  }

  async #decrypt(start: number, segments: Buffer, kept: (start: number, end: number) => void): Promise<void> {
    const opened = this.#opened;
    if (opened === undefined || segments.length === 0) return;
    let from = 0;
    while (from < segments.length) {
      const index = (start + from - opened.start) / ENCRYPTED_SEGMENT_BYTES;
      const { pieces, bad } = await this.#open(segments.subarray(from), opened.dataKeys);
      await this.#write(index * SEGMENT_BYTES, pieces, opened.kept);
      const good = bad === undefined ? segments.length : from + bad * ENCRYPTED_SEGMENT_BYTES;
      if (good > from) {
        this.#options.passing?.(segments.subarray(from, good), start + from);
        kept(start + from, start + good);
      }
      if (bad === undefined) return;
      from = Math.min(segments.length, good + ENCRYPTED_SEGMENT_BYTES);
      this.#options.damaged(index + bad, start + good, start + from);
    }
  }

  /** The plaintext up to the first segment that does not authenticate, and the index of that segment. */
  async #open(segments: Buffer, dataKeys: readonly Uint8Array[]) {
    const pieces: Uint8Array[] = [];
    try {
      for await (const piece of this.#options.cipher.decryptSegments(once(segments), { dataKeys })) pieces.push(piece);
      return { pieces, bad: undefined };
    } catch (error) {
      if (error instanceof DamagedBodyError) return { pieces, bad: error.segment };
      throw error;
    }
  }

  /** Writes pieces that stand next to each other in one call. */
  async #write(plainStart: number, pieces: readonly Uint8Array[], kept: KeptPlaintext): Promise<void> {
    let position = plainStart;
    let run: { at: number; end: number; buffers: Uint8Array[] } | undefined;
    for (const piece of pieces) {
      for (const { from, to, at } of kept.placed(position, piece.length)) {
        if (run?.end !== at) {
          if (run) await this.#options.part.write(run.buffers, run.at);
          run = { at, end: at, buffers: [] };
        }
        run.buffers.push(piece.subarray(from, to));
        run.end += to - from;
      }
      position += piece.length;
    }
    if (run) await this.#options.part.write(run.buffers, run.at);
  }
}

/** Joins chunks to whole segments, many at once. */
class Batch {
  #buffer = Buffer.allocUnsafeSlow(0);
  held = 0;

  *push(chunk: Uint8Array): Generator<Buffer, void, undefined> {
    for (let offset = 0; offset < chunk.length; ) {
      if (this.#buffer.length === 0) this.#buffer = Buffer.allocUnsafeSlow(batchSegments * ENCRYPTED_SEGMENT_BYTES);
      const part = chunk.subarray(offset, offset + this.#buffer.length - this.held);
      this.#buffer.set(part, this.held);
      this.held += part.length;
      offset += part.length;
      if (this.held === this.#buffer.length) yield this.#taken(this.held);
    }
  }

  /** The bytes held. An incomplete segment is left out, unless the container ends there. */
  rest(isEnd: boolean): Buffer {
    return this.#taken(isEnd ? this.held : this.held - (this.held % ENCRYPTED_SEGMENT_BYTES));
  }

  #taken(length: number): Buffer {
    const taken = this.#buffer.subarray(0, length);
    this.#buffer = Buffer.allocUnsafeSlow(0);
    this.held = 0;
    return taken;
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}
