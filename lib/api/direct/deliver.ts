import type { ByteRange } from '../../contract/byte-range.ts';
import { fileSizeHeader } from '../../contract/headers.ts';
import { limits } from '../../contract/limits.ts';
import type { Representation } from '../../direct/representation.ts';
import { ArchiveDamagedError, RangeNotSatisfiableError, ReplyTooLargeError } from '../../errors.ts';
import { notModified, rangeIsMeant } from '../../http/conditions.ts';
import { attachment } from '../../http/content-disposition.ts';
import { selectedRange } from '../../http/range.ts';
import { commonHeaders, type HttpReply, type ReplyBody } from '../../http/reply.ts';
import { type HttpRequest, singleHeader } from '../../http/request.ts';

/** How a reply went. */
export interface Delivery {
  readonly status: number;
  /** Bytes of the representation that were handed over. */
  readonly bytes: number;
  /** Whether all that was promised was handed over. */
  readonly complete: boolean;
}

/**
 * The reply to `GET` or `HEAD` of a representation: whole or the range that was asked for, under the caller's conditions
 * (RFC 9110 § 13, § 14). Its first bytes are read before this resolves, so that whatever fails until then still is a
 * status; after that the body throws, and the reply must then break off.
 *
 * @param ended told once, when the reply has ended, also by breaking off
 * @throws PreconditionFailedError, RangeNotSatisfiableError, ReplyTooLargeError, InvalidRequestError; what the
 * representation throws
 */
export async function serve(
  request: HttpRequest,
  representation: Representation,
  ended: (delivery: Delivery) => void,
): Promise<HttpReply<ReplyBody>> {
  const { size, etag } = representation;
  const unchanged = notModified(request, { etag, size });
  if (unchanged) {
    ended({ status: unchanged.status, bytes: 0, complete: true });
    return unchanged;
  }
  // RFC 9110 § 14.2: of the methods, only GET has ranges.
  const isHead = request.method === 'HEAD';
  const range = isHead ? undefined : rangeOf(request, representation);
  const status = range ? 206 : 200;
  const { start, end } = range ?? { start: 0, end: size };
  const length = end - start;
  const headers = {
    ...commonHeaders(request.requestId),
    'Content-Type': representation.mediaType,
    'Content-Length': String(length),
    [fileSizeHeader]: String(size),
    'Content-Disposition': attachment(representation.fileName),
    'Accept-Ranges': 'bytes',
    ETag: etag,
    ...(range && { 'Content-Range': `bytes ${start}-${end - 1}/${size}` }),
  };
  if (isHead) {
    ended({ status, bytes: 0, complete: true });
    return { status, headers, body: '' };
  }
  if (length > limits.streamedReplyBytes) throw new ReplyTooLargeError(length, limits.streamedReplyBytes);
  const pieces = representation.stream(start, end)[Symbol.asyncIterator]();
  const first = await pieces.next();
  return { status, headers, body: exactly(length, first, pieces, (delivery) => ended({ status, ...delivery })) };
}

function rangeOf(request: HttpRequest, { size, etag }: Representation): ByteRange | undefined {
  if (!rangeIsMeant(request, etag)) return undefined;
  const range = selectedRange(singleHeader(request, 'Range'), size);
  if (range === 'unsatisfiable') throw new RangeNotSatisfiableError(size);
  return range;
}

/** The pieces, as long as they are what `Content-Length` promised: not a byte more, and no quiet end before the last. */
async function* exactly(
  length: number,
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
  ended: (delivery: Omit<Delivery, 'status'>) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  try {
    for (let next = first; !next.done; next = await rest.next()) {
      const piece = next.value.length;
      if (bytes + piece > length) throw wrongLength(length);
      // Afterwards it is no longer there.
      yield next.value;
      bytes += piece;
    }
    if (bytes < length) throw wrongLength(length);
  } finally {
    ended({ bytes, complete: bytes === length });
    await rest.return?.();
  }
}

function wrongLength(length: number): ArchiveDamagedError {
  return new ArchiveDamagedError(`the archive did not give the ${length} bytes that the reply promised`);
}
