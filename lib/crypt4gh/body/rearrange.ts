import { type ByteSource, expectSome, type Random, systemRandom, wipe } from '../bytes.ts';
import { encryptHeader } from '../header/encrypt-header.ts';
import { openHeader } from '../header/open-header.ts';
import { readHeader } from '../header/read-header.ts';
import { ENCRYPTED_SEGMENT_BYTES } from '../sizes.ts';
import { isRandomAccess, type RandomAccessSource, readFully } from '../source.ts';
import { splitContainer } from './container.ts';
import { planRearrangement, type Rearrangement, type VisibleRange } from './rearrangement.ts';
import { truncatedBody } from './segment-decryptor.ts';

/** Bytes of a body that are copied at a time from a source that is read by position: 16 segments. */
const copyBytes = 16 * ENCRYPTED_SEGMENT_BYTES;

/**
 * A container of only the segments that ranges need, with the edit list that makes it exact (Crypt4GH § 4.2). The
 * segments are copied as they are, neither decrypted nor checked.
 *
 * The new readers get the data keys of the old container: whoever of them also has the old body can read all of it.
 *
 * @param source the old container. A stream is read up to the last segment needed; of a source that is read by position
 * only the header and those segments are.
 * @param options.privateKeys raw private keys to try.
 * @param options.ranges see {@link planRearrangement}.
 * @param options.recipients raw public keys of the readers of the new container.
 * @param options.sender raw public key: take only this writer's header packets.
 * @param options.random default: the system's.
 * @throws MalformedHeaderError, NoMatchingKeyError, DamagedBodyError, UnusableKeyError `weak-public-key`; RangeError for a
 * wrong argument.
 */
export async function* rearrange(
  source: ByteSource | RandomAccessSource,
  options: {
    readonly privateKeys: readonly Uint8Array[];
    readonly ranges: readonly VisibleRange[];
    readonly recipients: readonly Uint8Array[];
    readonly sender?: Uint8Array;
    readonly random?: Random;
  },
): AsyncGenerator<Uint8Array, void, undefined> {
  if (isRandomAccess(source)) {
    const header = await readHeader(source);
    const bodySize = source.size === undefined ? undefined : source.size - header.length;
    const { plan, newHeader } = rearrangeHeader(header, { ...options, bodySize });
    yield newHeader;
    for (const range of plan.bodyRanges) yield* readRange(source, { header, bodySize }, range);
    return;
  }
  const { header, body } = await splitContainer(source);
  try {
    const { plan, newHeader } = rearrangeHeader(header, options);
    yield newHeader;
    yield* cutOut(body, plan.bodyRanges);
  } finally {
    await body.return?.();
  }
}

function rearrangeHeader(
  header: Uint8Array,
  options: Parameters<typeof rearrange>[1] & { readonly bodySize?: number | undefined },
): { readonly plan: Rearrangement; readonly newHeader: Uint8Array } {
  const { privateKeys, ranges, recipients, sender, random = systemRandom, bodySize } = options;
  expectSome(privateKeys, 'private key');
  const { dataKeys, editList } = openHeader(header, privateKeys, sender === undefined ? {} : { sender });
  try {
    const plan = planRearrangement({ ranges, editList, bodySize });
    return { plan, newHeader: encryptHeader({ dataKeys, editList: plan.editList, recipients, random }) };
  } finally {
    wipe(...dataKeys);
  }
}

type BodyRange = Rearrangement['bodyRanges'][number];

/** @throws DamagedBodyError when the source ends before the size that it claims. */
async function* readRange(
  source: RandomAccessSource,
  { header, bodySize }: { readonly header: Uint8Array; readonly bodySize: number | undefined },
  range: BodyRange,
) {
  const end = range.end ?? Number.POSITIVE_INFINITY;
  for (let position: number = range.start; position < end; position += copyBytes) {
    const wanted = Math.min(copyBytes, end - position);
    const bytes = await readFully(source, header.length + position, wanted);
    if (bytes.length > 0) yield bytes;
    if (bytes.length === wanted) continue;
    if (bodySize === undefined) return;
    throw truncatedBody(position + bytes.length, end);
  }
}

/** The ranges of a body that comes in chunks. Stops after the last one. */
async function* cutOut(body: AsyncIterable<Uint8Array>, ranges: readonly BodyRange[]) {
  const left = [...ranges];
  let position = 0;
  if (left.length === 0) return;
  for await (const chunk of body) {
    const chunkEnd = position + chunk.length;
    for (let range = left[0]; range !== undefined && range.start < chunkEnd; range = left[0]) {
      const part = chunk.subarray(Math.max(0, range.start - position), (range.end ?? chunkEnd) - position);
      if (part.length > 0) yield part;
      if (range.end === undefined || range.end > chunkEnd) break;
      left.shift();
    }
    if (left.length === 0) return;
    position = chunkEnd;
  }
}
