import { decrypt, openContainer, type RandomAccessSource, type VisibleRange } from '../../lib/crypt4gh/index.ts';
import { inChunks } from '../helpers/crypt4gh-vectors.ts';
import { readerKey } from './headers.ts';
import type { Seeded } from './seeded.ts';

/** A container to use, and what may come out of it. */
export interface FuzzedContainer {
  readonly header: Buffer;
  readonly body: Buffer;
  /** Bytes of the plaintext that was sealed, before the edit list. */
  readonly plainSize: number;
  /** The plaintext that a reader sees, or a part of it; `undefined`: which authentic bytes are seen is open. */
  readonly visible: Buffer | undefined;
  /** Whether a reader sees all of that. */
  readonly isWhole: boolean;
}

const privateKeys = [readerKey];

/** Decrypts it from its start on. */
export async function decryptWhole(random: Seeded, container: FuzzedContainer): Promise<void> {
  const { visible, plainSize, isWhole } = container;
  const expectedSize = random.oneIn(3) ? plainSize : undefined;
  const source = stream(random, container);
  await withoutError(isWhole, async () => {
    const output = decrypt(source, { privateKeys, expectedSize });
    await compare(output, visible, isWhole || expectedSize !== undefined);
  });
}

/** Reads ranges, from a source that may lie about its size and about how much it gives. */
export async function readAtRandom(random: Seeded, container: FuzzedContainer): Promise<void> {
  const { header, body, visible, plainSize } = container;
  const expectedSize = random.oneIn(3) ? plainSize : undefined;
  const isApart = random.oneIn(4);
  const { source, isHonest } = randomAccess(random, isApart ? body : Buffer.concat([header, body]));
  const isWhole = container.isWhole && isHonest;
  await withoutError(isWhole, async () => {
    const reader = await openContainer(source, {
      privateKeys,
      expectedSize,
      ...(isApart && { header }),
      segmentsPerFetch: random.pick([1, 2, 16]),
      segmentsInFirstFetch: random.pick([1, 3]),
      fetchesInFlight: random.pick([1, 2, 4]),
    });
    for (let count = 0; count < 3; count += 1) {
      const { start, end } = range(random);
      const isStream = end === undefined || random.oneIn(2);
      const output = isStream ? reader.stream(start, end) : [await reader.read(start, end - start)];
      await compare(output, visible?.subarray(start, end), isWhole || expectedSize !== undefined);
    }
  });
}

/** The library's own errors are for containers that are damaged. */
async function withoutError(isWhole: boolean, use: () => Promise<void>): Promise<void> {
  try {
    await use();
  } catch (error) {
    throw isWhole ? new Error('a whole container was refused', { cause: error }) : error;
  }
}

function stream(random: Seeded, { header, body }: FuzzedContainer): Iterable<Uint8Array> {
  const chunk = random.pick([Number.POSITIVE_INFINITY, 65_536, 65_564, 1 + random.below(100_000), 4_000]);
  return inChunks(Buffer.concat([header, body]), chunk);
}

/** Positions that may lie behind the end. */
function range(random: Seeded): VisibleRange & { readonly start: number } {
  const position = () =>
    random.oneIn(2) ? random.below(300_000) : random.pick([0, 1, 65_535, 65_536, 65_537, 131_072]);
  const [start, length] = [position(), random.oneIn(2) ? random.below(100) : position()];
  return random.oneIn(6) ? { start } : { start, end: start + length };
}

/** The bytes as a source whose size is known, unknown or wrong, and which may give less or more than it is asked for. */
function randomAccess(
  random: Seeded,
  bytes: Buffer,
): { readonly source: RandomAccessSource; readonly isHonest: boolean } {
  const lies = [0, 124, random.below(400_000), bytes.length - 1, bytes.length + 1, bytes.length + 65_564, 2 ** 53 - 1];
  const size = random.pick([bytes.length, bytes.length, undefined, random.pick(lies)]);
  const most = random.oneIn(4) ? 5_000 + random.below(100_000) : Number.POSITIVE_INFINITY;
  const more = random.oneIn(8) ? random.below(70_000) : 0;
  const source: RandomAccessSource = {
    size,
    read: async (offset, length) => bytes.subarray(offset, offset + Math.min(length + more, most)),
  };
  return { source, isHonest: size === undefined || size === bytes.length };
}

/** Checks, piece by piece, that the output is the plaintext that a reader sees, or its beginning. */
async function compare(
  output: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  expected: Buffer | undefined,
  isComplete: boolean,
): Promise<void> {
  let position = 0;
  for await (const bytes of output) {
    if (expected?.subarray(position, position + bytes.length).equals(bytes) === false) {
      throw new Error('bytes were given out that are not those asked for');
    }
    position += bytes.length;
  }
  if (isComplete && expected !== undefined && position !== expected.length) {
    throw new Error(`${position} bytes were given out, not ${expected.length}`);
  }
}
