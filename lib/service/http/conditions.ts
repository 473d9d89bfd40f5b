import { namesEtag } from '../../common/http-ranges.ts';
import { fileSizeHeader } from '../../contract/http.ts';
import { DataOutError } from '../../errors.ts';
import { commonHeaders, type HttpReply } from './reply.ts';
import type { HttpRequest } from './request.ts';

/**
 * The answer that the caller's conditions call for, in the order of RFC 9110 § 13.2.2. Conditions with dates are ignored:
 * replies carry no `Last-Modified` to compare.
 *
 * @param sent strong entity tag and size, in bytes, of the representation
 * @returns 304, or `undefined` when the request continues
 */
export function notModified(
  request: HttpRequest,
  sent: { readonly etag: string; readonly size: number },
): HttpReply | undefined {
  const { etag, size } = sent;
  const ifMatch = listHeader(request, 'if-match');
  // Compared strongly (RFC 9110 § 13.1.1), If-None-Match weakly (§ 13.1.2).
  if (ifMatch !== undefined && !namesEtag(ifMatch, etag)) {
    throw new DataOutError(
      'precondition_failed',
      'The file is not the one that If-Match names. Begin again without If-Match.',
    );
  }
  const ifNoneMatch = listHeader(request, 'if-none-match');
  if (ifNoneMatch === undefined || !namesEtag(ifNoneMatch, etag, 'weakly')) return undefined;
  return {
    status: 304,
    headers: { ...commonHeaders(request.requestId), ETag: etag, [fileSizeHeader]: String(size) },
    body: '',
  };
}

/** Whether `Range` counts: without `If-Range`, or when `If-Range` names this entity tag (RFC 9110 § 13.1.5). */
export function rangeIsMeant(request: HttpRequest, etag: string): boolean {
  const ifRange = listHeader(request, 'if-range');
  return ifRange === undefined || ifRange.trim() === etag;
}

/** A list in several headers is one list (RFC 9110 § 5.3). */
function listHeader(request: HttpRequest, name: string): string | undefined {
  return request.headers.get(name)?.join(', ');
}
