import { DataOutError, NotFoundError, UnsupportedFormatError } from '../../../errors.ts';
import { type DataFormat, RegionsError, UnknownReferenceError } from '../../../regions/index.ts';
import type { Problem } from '../../http/problem.ts';
import { commonHeaders, type HttpReply, type ReplyBody } from '../../http/reply.ts';

/** Models of htsget 1.3. */

/** One piece of the answer. The pieces of all URLs, joined in their order, are a file. */
export interface TicketUrl {
  readonly url: string;
  /** Absent for `data:` alone. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the piece is the file's header or its records. Absent in the encrypted form, where they are one container. */
  readonly class?: 'header' | 'body';
}

/** Media type of tickets and errors. */
const mediaType = 'application/vnd.ga4gh.htsget.v1.3.0+json; charset=utf-8';

/** The document of a ticket. */
export function ticketDocument(format: DataFormat, urls: readonly TicketUrl[]): string {
  return JSON.stringify({ htsget: { format, urls } });
}

export function ticketReply(requestId: string, body: string): HttpReply {
  return { status: 200, headers: { ...commonHeaders(requestId), 'Content-Type': mediaType }, body };
}

/** Names of errors in htsget, by our codes. The standard has none for faults of a server. */
const errorNames: Readonly<Record<Problem['code'], string>> = {
  invalid_request: 'InvalidInput',
  invalid_range: 'InvalidRange',
  unsupported_format: 'UnsupportedFormat',
  request_too_large: 'PayloadTooLarge',
  reply_too_large: 'PayloadTooLarge',
  unauthenticated: 'InvalidAuthentication',
  forbidden: 'PermissionDenied',
  foreign_origin: 'PermissionDenied',
  request_rejected: 'PermissionDenied',
  not_found: 'NotFound',
  precondition_failed: 'InvalidInput',
  range_not_satisfiable: 'InvalidRange',
  temporarily_unavailable: 'ServiceUnavailable',
  archive_damaged: 'InternalError',
  archive_location_unknown: 'InternalError',
  internal_error: 'InternalError',
};

/** A problem reply in htsget's own model: `error` and `message`, with the stable `code`, the request id and the violations. */
export function htsgetErrorReply<Body extends ReplyBody>(reply: HttpReply<Body>): HttpReply<Body | string> {
  if (typeof reply.body !== 'string' || reply.body === '') return reply;
  const { title, detail, code, requestId, violations } = JSON.parse(reply.body) as Problem;
  const broken = violations?.map(({ field, message }) => `${field} ${message}`).join('; ');
  const error = { error: errorNames[code], message: broken ?? detail ?? title, code, requestId };
  const htsget = { ...error, ...(violations && { violations }) };
  return { ...reply, headers: { ...reply.headers, 'Content-Type': mediaType }, body: JSON.stringify({ htsget }) };
}

/** Runs `task`. What the formats' own code says of a file or its index becomes an error of this service. */
export async function asCallersError<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw callersError(error);
  }
}

/** A broken file or index is the submitter's: the archive gives exactly what it took. */
export function callersError(error: unknown): unknown {
  if (error instanceof DataOutError || !(error instanceof RegionsError)) return error;
  if (error instanceof UnknownReferenceError) return new NotFoundError(error.message, { cause: error });
  return new UnsupportedFormatError(`The file cannot be cut into regions: ${error.message}`, { cause: error });
}
