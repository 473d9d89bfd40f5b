import { InvalidRequestError } from '../errors.ts';
import { commonHeaders, type HttpReply, jsonReply } from './reply.ts';
import { type HttpRequest, singleQuery } from './request.ts';

/** A URL at which S3 serves an object. */
export interface Location {
  readonly url: string;
  readonly expiresAt: Date;
  /** Bytes of the object. */
  readonly size: number;
  /** Entity tag of the object, where it is known. */
  readonly etag?: string;
}

/**
 * Whether the reply is a redirection. With `redirect=false` it is the URL as JSON, for clients that cannot follow a redirection,
 * or that send `Authorization` on to S3, which refuses it.
 * @throws InvalidRequestError
 */
export function redirectWanted(request: HttpRequest): boolean {
  const value = singleQuery(request, 'redirect')?.toLowerCase() ?? 'true';
  if (value !== 'true' && value !== 'false') {
    throw new InvalidRequestError([{ field: 'redirect', message: 'must be true or false' }]);
  }
  return value === 'true';
}

/** 307 to a presigned URL; or, with `redirect` false, 200 with that URL as JSON. Neither may be kept by a cache. */
export function locationReply(requestId: string, location: Location, redirect: boolean): HttpReply {
  const { url, expiresAt, size, etag } = location;
  if (!redirect) return jsonReply(requestId, { url, expiresAt: expiresAt.toISOString(), size, ...(etag && { etag }) });
  const headers = { ...commonHeaders(requestId), ...(etag && { ETag: etag }), Location: url };
  return { status: 307, headers, body: '' };
}
