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
export interface ReplyOutcome {
  readonly status: number;
  /** Bytes that were handed to Lambda. AWS does not say how many of them the reader took. */
  readonly bytes: number;
  /** Bytes that the reply announced, or that its URL leads to. A reply without a URL broke off if it sent fewer `bytes`. */
  readonly promised: number;
}

/**
 * The reply to `GET` or `HEAD` of a representation: the whole or one range, under the caller's conditions (RFC 9110 § 13,
 * § 14). Its first bytes are read before this resolves, so that a failure until then still becomes a status. A later failure
 * makes the body throw: the reply must then break off.
 *
 * @param ended called once, when the reply has ended or has broken off
 * @throws PreconditionFailedError, RangeNotSatisfiableError, ReplyTooLargeError, InvalidRequestError; what the
 * representation throws
 */
export async function representationReply(
  request: HttpRequest,
  representation: Representation,
  ended: (outcome: ReplyOutcome) => void,
): Promise<HttpReply<ReplyBody>> {
  const { size, etag } = representation;
  const unchanged = notModified(request, { etag, size });
  if (unchanged) {
    ended({ status: unchanged.status, bytes: 0, promised: 0 });
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
    ended({ status, bytes: 0, promised: 0 });
    return { status, headers, body: '' };
  }
  if (length > limits.streamedReplyBytes) throw new ReplyTooLargeError(length, limits.streamedReplyBytes);
  const pieces = representation.stream(start, end)[Symbol.asyncIterator]();
  const first = await pieces.next();
  return { status, headers, body: exactly(length, first, pieces, (outcome) => ended({ status, ...outcome })) };
}

function rangeOf(request: HttpRequest, { size, etag }: Representation): ByteRange | undefined {
  if (!rangeIsMeant(request, etag)) return undefined;
  const range = selectedRange(singleHeader(request, 'Range'), size);
  if (range === 'unsatisfiable') throw new RangeNotSatisfiableError(size);
  return range;
}

/** The pieces. @throws ArchiveDamagedError when they have more or fewer bytes than `Content-Length` promised */
async function* exactly(
  length: number,
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
  ended: (outcome: Omit<ReplyOutcome, 'status'>) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  try {
    for (let next = first; !next.done; next = await rest.next()) {
      // Counted before the piece goes out: its memory may then be gone.
      const piece = next.value.length;
      if (bytes + piece > length) throw wrongLength(length);
      yield next.value;
      bytes += piece;
    }
    if (bytes < length) throw wrongLength(length);
  } finally {
    ended({ bytes, promised: length });
    await rest.return?.();
  }
}

function wrongLength(length: number): ArchiveDamagedError {
  return new ArchiveDamagedError(`the archive did not give the ${length} bytes that the reply promised`);
}
