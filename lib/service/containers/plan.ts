import type { ByteRange } from '../../crypt4gh/index.ts';

const mebibyte = 1024 * 1024;

/** S3's rules for multipart uploads, in bytes and parts. */
const smallestPart = 5 * mebibyte;
const largestPart = 5 * 1024 * mebibyte;
const mostParts = 10_000;

/** Bodies up to this many bytes are read and sent in one PutObject. Larger ones are copied by S3, which allows range copies. */
export const largestSmallBody = 8 * mebibyte;

/** Bytes of one copied part. Parts are larger where 10,000 of this size would not hold the body. */
const usualCopy = 64 * mebibyte;

/** Bytes [start, end) of the body as one part that S3 copies. */
export interface CopyPart extends ByteRange {
  readonly partNumber: number;
}

/**
 * A container of `header' || body` as a multipart upload. Part 1 is the header and the first `sent` bytes of the body. The
 * copies are the rest of the body, in order, each of `copySize` bytes except the last.
 */
export interface MultipartPlan {
  readonly kind: 'multipart';
  readonly sent: number;
  readonly copySize: number;
  readonly copies: readonly CopyPart[];
}

/** How a container of `header' || body` is written. `put`: read the whole body, send everything at once. */
export type ContainerPlan = { readonly kind: 'put' } | MultipartPlan;

/**
 * Plan a container of any size.
 *
 * @param headerSize bytes of the rebuilt header
 * @param bodySize bytes of the archived body
 * @throws RangeError when S3 cannot hold the container (more than about 48.8 TiB)
 */
export function planContainer(headerSize: number, bodySize: number): ContainerPlan {
  return bodySize <= largestSmallBody ? { kind: 'put' } : planMultipart(headerSize, bodySize);
}

/**
 * Plan a container whose body is over 8 MiB. At most 5 MiB of it leave S3: part 1 is filled up to exactly S3's minimum (a
 * larger header goes alone), and the rest is copied. The same sizes always give the same parts.
 *
 * @param usual bytes of a copy, where 10,000 of them hold the body
 * @throws RangeError as {@link planContainer}
 */
export function planMultipart(headerSize: number, bodySize: number, usual = usualCopy): MultipartPlan {
  const sent = Math.max(0, smallestPart - headerSize);
  const copySize = sizeOfCopies(bodySize - sent, usual);
  const copies: CopyPart[] = [];
  for (let start = sent; start < bodySize; start += copySize) {
    copies.push({ partNumber: copies.length + 2, start, end: Math.min(start + copySize, bodySize) });
  }
  return { kind: 'multipart', sent, copySize, copies };
}

/** Whole MiB, so that part borders are easy to follow in logs and inventories. */
function sizeOfCopies(bytes: number, usual: number): number {
  const needed = Math.ceil(bytes / (mostParts - 1) / mebibyte) * mebibyte;
  if (needed > largestPart)
    throw new RangeError(`expected a body that fits in 10,000 parts of 5 GiB, got ${bytes} bytes`);
  return Math.max(usual, needed);
}
