import { createHash } from 'node:crypto';
import { selectedRange } from '../../common/http-ranges.ts';
import { safeFileName } from '../../common/names.ts';
import { fileSizeHeader } from '../../contract/http.ts';
import { limits } from '../../contract/limits.ts';
import type { ByteRange } from '../../crypt4gh/index.ts';
import { type DataOutError, damaged, rangeNotSatisfiable, replyTooLarge } from '../../errors.ts';
import type { ArchivedFile } from '../archive/ports.ts';
import { submittedName } from '../containers/container-name.ts';
import { notModified, rangeIsMeant } from '../http/conditions.ts';
import { attachment, commonHeaders, type HttpReply, type ReplyBody } from '../http/reply.ts';
import { type HttpRequest, singleHeader } from '../http/request.ts';

/**
 * Bytes that can be served whole or by range: a plaintext, a container, part of one. To make one reads no body: size and ETag
 * come from arithmetic and from the catalogue.
 */
export interface Representation {
  readonly size: number;
  /** Strong entity tag with its quotes (RFC 9110 § 8.8.3): other bytes have another one. */
  readonly etag: string;
  readonly mediaType: string;
  /** The name under which a browser saves the file: the submitter's base name, untrusted text. */
  readonly fileName: string;
  /**
   * Bytes [start, end), in order, in pieces of not much more than 1 MiB. Reads ahead of the consumer, and stops reading
   * when the iteration ends early.
   *
   * @throws also after some bytes: the reply must then break off
   */
  stream(start: number, end: number): AsyncIterable<Uint8Array>;
}

/** SHA-256 in lower-case hex. */
export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** A strong entity tag with its quotes, of bytes that these texts decide. */
export function entityTag(parts: readonly string[]): string {
  return `"${sha256(JSON.stringify(parts))}"`;
}

/** Type of every plaintext, because nothing looks into it. */
export const plaintextMediaType = 'application/octet-stream';

/**
 * The entity tag of a file's plaintext. It follows from the catalogue: the header has the data key of its body, so another body
 * has another header, or does not decrypt.
 */
export function plaintextTag({ fileId, header, archiveFilePath, archiveFileSize }: ArchivedFile): string {
  return entityTag(['plaintext', fileId, sha256(header), archiveFilePath, String(archiveFileSize)]);
}

type Named = Pick<ArchivedFile, 'fileId' | 'submissionFilePath'>;

/** The submitted name of a file, made safe so that every system can save its plaintext under it; the file id if it is empty. */
export function displayFileName({ fileId, submissionFilePath }: Named): string {
  return safeFileName(submittedName(submissionFilePath) || fileId);
}

/** Whether a caller may name the file so in a URL: as {@link displayFileName}, or as the last segment of the submitted path. */
export function isNameOf(file: Named, name: string): boolean {
  return name === displayFileName(file) || name === file.submissionFilePath.split(/[\\/]/).at(-1);
}

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
  if (length > limits.streamedReplyBytes) throw replyTooLarge(length, limits.streamedReplyBytes);
  const pieces = representation.stream(start, end)[Symbol.asyncIterator]();
  const first = await pieces.next();
  return { status, headers, body: exactly(length, first, pieces, (outcome) => ended({ status, ...outcome })) };
}

function rangeOf(request: HttpRequest, { size, etag }: Representation): ByteRange | undefined {
  if (!rangeIsMeant(request, etag)) return undefined;
  const range = selectedRange(singleHeader(request, 'Range'), size);
  if (range === 'unsatisfiable') throw rangeNotSatisfiable(size);
  return range;
}

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

function wrongLength(length: number): DataOutError {
  return damaged(`the archive did not give the ${length} bytes that the reply promised`);
}
