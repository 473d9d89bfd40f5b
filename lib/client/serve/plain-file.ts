import type { Recent } from '../../common/recent.ts';
import { type ContainerReader, SEGMENT_BYTES } from '../../crypt4gh/index.ts';
import type { OpenFile } from './place.ts';

/** Bytes of plaintext that are kept, of all files: 32 MiB. */
export const mostBlocks = 512;

/** Segments of the first read: a client that wants only a few bytes costs no more. */
const firstBlocks = 2;
/** Bytes of one later read. */
const largestRead = 4 * 1024 * 1024;

/**
 * The plaintext of one container, read at any position. A read begins with few bytes, and each further one takes twice as
 * many: tools ask for all from a position on, and give up after a block or two. Only first reads are kept.
 */
export class PlainFile implements OpenFile {
  readonly size: number;
  readonly etag: string;
  readonly lastModified: string;
  readonly #reader: ContainerReader;
  readonly #blocks: Recent<Uint8Array>;

  /** @param blocks shared by all files; their names begin with the entity tag */
  constructor(
    reader: ContainerReader,
    { etag, lastModified }: Pick<PlainFile, 'etag' | 'lastModified'>,
    blocks: Recent<Uint8Array>,
  ) {
    if (reader.size === undefined) throw new RangeError('expected a container of known size');
    this.size = reader.size;
    this.etag = etag;
    this.lastModified = lastModified;
    this.#reader = reader;
    this.#blocks = blocks;
  }

  async *stream(start: number, end: number): AsyncGenerator<Uint8Array, void, undefined> {
    const last = Math.min(end, this.size);
    let position = Math.min(last, (Math.floor(start / SEGMENT_BYTES) + firstBlocks) * SEGMENT_BYTES);
    if (start < position) yield await this.#fromBlocks(start, position);
    let length = firstBlocks * SEGMENT_BYTES;
    const next = () => {
      if (position >= last) return undefined;
      length = Math.min(length * 2, largestRead);
      const from = position;
      position = Math.min(last, from + length);
      const read = this.#reader.read(from, position - from);
      // Awaited below, unless the client goes away before.
      read.catch(() => undefined);
      return read;
    };
    for (let current = next(); current !== undefined; ) {
      const piece = await current;
      // The next read is under way while this one goes out.
      current = next();
      yield piece;
    }
  }

  /** @param end at most {@link firstBlocks} blocks from `start` on */
  async #fromBlocks(start: number, end: number): Promise<Uint8Array> {
    const first = Math.floor(start / SEGMENT_BYTES);
    const indices = Array.from({ length: Math.ceil(end / SEGMENT_BYTES) - first }, (_, at) => first + at);
    const name = (index: number) => `${this.etag}${index}`;
    const missing = indices.filter((index) => this.#blocks.peek(name(index)) === undefined);
    const [from = 0, to = from] = [missing[0], missing.at(-1)];
    // Neighbours come in one read.
    const fetched =
      missing.length > 0 ? this.#reader.read(from * SEGMENT_BYTES, (to - from + 1) * SEGMENT_BYTES) : undefined;
    const blocks = await Promise.all(
      indices.map((index) =>
        this.#blocks.get(name(index), async () => {
          const at = (index - from) * SEGMENT_BYTES;
          return (await fetched)?.subarray(at, at + SEGMENT_BYTES) ?? new Uint8Array();
        }),
      ),
    );
    const joined = blocks.length === 1 ? (blocks[0] ?? new Uint8Array()) : Buffer.concat(blocks);
    return joined.subarray(start - first * SEGMENT_BYTES, end - first * SEGMENT_BYTES);
  }
}
