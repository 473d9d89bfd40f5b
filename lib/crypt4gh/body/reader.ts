import { expectOne, expectSome, wipe } from '../bytes.ts';
import { editedSize, joinedRanges, type KeptRange, selectKept } from '../header/edit-list.ts';
import { type OpenedHeader, openHeader } from '../header/open-header.ts';
import { readHeader } from '../header/read-header.ts';
import { giveBack } from '../sealed.ts';
import { decryptedSize, ENCRYPTED_SEGMENT_BYTES, SEGMENT_BYTES, segmentOverhead } from '../sizes.ts';
import { type RandomAccessSource, readFully } from '../source.ts';
import { BodySizeCheck } from './body-size.ts';
import { readAhead } from './read-ahead.ts';
import { keptRange, type VisibleRange } from './rearrangement.ts';
import { SegmentDecryptor, truncatedBody } from './segment-decryptor.ts';
import { type SegmentRun, segmentRuns } from './segment-runs.ts';

/** Most segments of one fetch: 1 MiB. */
const defaultSegmentsPerFetch = 16;

/** How a {@link ContainerReader} reads its source. */
interface ReadingOptions {
  /** Most segments of one read of the source; default 16, which is 1 MiB. */
  readonly segmentsPerFetch?: number;
  /** Most segments of the first read of a long stream: a short one gives the first bytes sooner. Default: as of the other reads. */
  readonly segmentsInFirstFetch?: number;
  /** Most reads of the source that are under way or being decrypted; default 1: nothing is read ahead. */
  readonly fetchesInFlight?: number;
  /**
   * Whether every read of the source returns new memory that has no other user. That memory is then detached and given back after
   * decryption. Default: no, the garbage collector frees it.
   */
  readonly ownsReads?: boolean;
}

const nothing = { start: 0, bytes: Buffer.alloc(0) };

/**
 * Random access to the plaintext of a container (Crypt4GH § 4.1), from {@link openContainer}. Positions count bytes after the
 * edit list. The reader is itself a source that is read by position. It keeps nothing between reads.
 */
export class ContainerReader implements RandomAccessSource {
  /** Bytes after the edit list; `undefined` if neither the source nor the caller knows the size. */
  readonly size: number | undefined;
  /** The edit list of the header: bytes to skip and keep in turn; `undefined`: there is none. */
  readonly editList: readonly bigint[] | undefined;
  readonly #body: BodySource;
  readonly #decryptor: SegmentDecryptor;
  readonly #maximumSegments: number;
  readonly #firstSegments: number;
  readonly #fetchesInFlight: number;
  readonly #ownsReads: boolean;

  /** @internal */
  constructor(body: BodySource, options: ReadingOptions & Pick<OpenedHeader, 'dataKeys' | 'editList'>) {
    const { dataKeys, editList, segmentsPerFetch = defaultSegmentsPerFetch, fetchesInFlight = 1 } = options;
    const { segmentsInFirstFetch = segmentsPerFetch, ownsReads = false } = options;
    expectOne(segmentsPerFetch, 'segment per fetch');
    expectOne(segmentsInFirstFetch, 'segment per fetch');
    expectOne(fetchesInFlight, 'fetch in flight');
    this.#body = body;
    this.#decryptor = new SegmentDecryptor(dataKeys);
    this.#maximumSegments = segmentsPerFetch;
    this.#firstSegments = segmentsInFirstFetch;
    this.#fetchesInFlight = fetchesInFlight;
    this.#ownsReads = ownsReads;
    this.editList = editList;
    this.size = body.plainSize === undefined ? undefined : editedSize(body.plainSize, editList ?? []);
  }

  /** The `length` bytes from `offset` on; fewer only at the end of the plaintext. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for await (const part of this.stream(offset, offset + length)) parts.push(part);
    const [only, ...others] = parts;
    return only !== undefined && others.length === 0 ? only : Buffer.concat(parts);
  }

  /**
   * Bytes [start, end), without `end` to the end, in pieces of at most a segment, in constant memory. It fetches only the
   * segments needed, neighbours together (Crypt4GH § 4.1), and reads ahead if `fetchesInFlight` says so. A range up to the end
   * also needs an empty last segment. Bytes are given out only after their segment has authenticated.
   */
  async *stream(start = 0, end?: number): AsyncGenerator<Uint8Array, void, undefined> {
    yield* this.#select([keptRange({ start, end })]);
  }

  /**
   * Reads several ranges, each as {@link read} does. Each segment is fetched and decrypted once, even if several ranges need it;
   * neighbours are fetched together (Crypt4GH § 4.1).
   *
   * @returns the bytes of each range, in the order of `ranges`, which may overlap. Those that overlap or touch share memory.
   */
  async readRanges(ranges: readonly VisibleRange[]): Promise<Uint8Array[]> {
    const wanted = joinedRanges(ranges.map(keptRange));
    const found = wanted.map(({ start }) => ({ start: Number(start), parts: [] as Uint8Array[] }));
    let index = 0;
    let position = wanted[0]?.start ?? 0n;
    for await (const part of this.#select(wanted)) {
      found[index]?.parts.push(part);
      position += BigInt(part.length);
      if (position !== wanted[index]?.end) continue;
      index += 1;
      position = wanted[index]?.start ?? 0n;
    }
    const joined = found.map(({ start, parts }) => ({ start, bytes: Buffer.concat(parts) }));
    return ranges.map(({ start, end }) => {
      const { start: first, bytes } = joined.findLast((range) => range.start <= start) ?? nothing;
      return bytes.subarray(start - first, end === undefined ? undefined : end - first);
    });
  }

  /** @param wanted ascending, not overlapping. A piece never spans two of them. */
  async *#select(wanted: readonly KeptRange[]): AsyncGenerator<Uint8Array, void, undefined> {
    const isLong = this.#atMost(wanted) > this.#maximumSegments * SEGMENT_BYTES;
    const runs = segmentRuns(selectKept(this.editList, wanted), {
      plainSize: this.#body.plainSize ?? Number.MAX_SAFE_INTEGER,
      endsEmpty: this.#body.endsEmpty,
      maximumSegments: this.#maximumSegments,
      firstSegments: isLong ? this.#firstSegments : this.#maximumSegments,
    });
    const fetched = readAhead(runs, this.#fetchesInFlight, async (run) => ({ run, ...(await this.#body.fetch(run)) }));
    for await (const { run, bytes, isLast } of fetched) {
      yield* this.#decrypt(bytes, run);
      if (this.#ownsReads) giveBack(bytes);
      if (isLast) return;
    }
  }

  /** Bytes from the start of the first range to the end of the last one. */
  #atMost(wanted: readonly KeptRange[]): number {
    const end = Number(wanted.at(-1)?.end ?? Number.POSITIVE_INFINITY);
    return Math.min(end, this.size ?? Number.POSITIVE_INFINITY) - Number(wanted[0]?.start ?? 0);
  }

  *#decrypt(bytes: Buffer, { first, parts }: SegmentRun): Generator<Buffer, void, undefined> {
    let opened = -1;
    let plaintext: Buffer = Buffer.alloc(0);
    for (const { index, from, to } of parts) {
      if (index !== opened) {
        const start = (index - first) * ENCRYPTED_SEGMENT_BYTES;
        // Only if the size is not known: the body ended before this segment.
        if (start >= bytes.length) return;
        plaintext = this.#decryptor.open(bytes.subarray(start, start + ENCRYPTED_SEGMENT_BYTES), index);
        opened = index;
      }
      const part = plaintext.subarray(from, to);
      if (part.length > 0) yield part;
    }
  }
}

/** The body in a source, with its size as far as it is known. */
class BodySource {
  /** Bytes of the plaintext before any edit list. */
  readonly plainSize: number | undefined;
  readonly #source: RandomAccessSource;
  readonly #start: number;
  readonly #size: number | undefined;
  /** Whether the body ends with an empty segment, as some writers make it. */
  readonly endsEmpty: boolean;

  constructor(source: RandomAccessSource, start: number, expectedSize: number | undefined) {
    this.#source = source;
    this.#start = start;
    this.#size = source.size === undefined ? undefined : Math.max(0, source.size - start);
    const check = expectedSize === undefined ? undefined : new BodySizeCheck(expectedSize);
    if (this.#size !== undefined) check?.whole(this.#size);
    this.plainSize = expectedSize ?? (this.#size === undefined ? undefined : decryptedSize(this.#size));
    this.#size ??= check?.bodySize;
    this.endsEmpty = this.#size !== undefined && this.#size % ENCRYPTED_SEGMENT_BYTES === segmentOverhead;
  }

  async fetch({ first, end }: SegmentRun): Promise<{ readonly bytes: Buffer; readonly isLast: boolean }> {
    const start = first * ENCRYPTED_SEGMENT_BYTES;
    const length = Math.min(end * ENCRYPTED_SEGMENT_BYTES, this.#size ?? Number.POSITIVE_INFINITY) - start;
    const bytes = await readFully(this.#source, this.#start + start, length);
    if (bytes.length === length) return { bytes, isLast: false };
    if (this.#size === undefined) return { bytes, isLast: true };
    throw truncatedBody(start + bytes.length, start + length);
  }
}

/**
 * Opens a container for reading at any position (Crypt4GH § 4.1). The header may be given apart from the body. Only the header
 * is read now.
 *
 * @param source the container; with `options.header` the body alone.
 * @param options.expectedSize bytes of the plaintext before the edit list, known from elsewhere. A source of another size is an
 * error then. Default: taken from the size of the source.
 */
export async function openContainer(
  source: RandomAccessSource,
  options: ReadingOptions & {
    readonly privateKeys: readonly Uint8Array[];
    readonly sender?: Uint8Array;
    readonly header?: Uint8Array;
    readonly expectedSize?: number | undefined;
  },
): Promise<ContainerReader> {
  const { privateKeys, sender, expectedSize, ...reading } = options;
  expectSome(privateKeys, 'private key');
  const header = options.header ?? (await readHeader(source));
  const { dataKeys, editList } = openHeader(header, privateKeys, { sender });
  try {
    const body = new BodySource(source, options.header === undefined ? header.length : 0, expectedSize);
    return new ContainerReader(body, { ...reading, dataKeys, editList });
  } finally {
    wipe(...dataKeys);
  }
}
