import type { HttpRequest } from './request.ts';

/** Entity tags of a list, with `W/` and quotes (RFC 9110 § 8.8.3). */
const entityTags = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/**
 * Whether the caller's conditions let the request go on, evaluated in the order of RFC 9110 § 13.2.2. Those with dates are
 * not: without `Last-Modified` there is nothing to compare.
 *
 * @param etag strong entity tag of what would be sent
 */
export function precondition(request: HttpRequest, etag: string): 'met' | 'not-modified' | 'failed' {
  const ifMatch = listHeader(request, 'if-match');
  if (ifMatch !== undefined && !named(ifMatch, etag, (tag) => tag)) return 'failed';
  const ifNoneMatch = listHeader(request, 'if-none-match');
  // Weak comparison (RFC 9110 § 13.1.2); If-Match compares strongly (§ 13.1.1).
  if (ifNoneMatch !== undefined && named(ifNoneMatch, etag, (tag) => tag.replace(/^W\//, ''))) return 'not-modified';
  return 'met';
}

/** Whether `Range` counts: without `If-Range`, or when that names these very bytes (RFC 9110 § 13.1.5). */
export function rangeIsMeant(request: HttpRequest, etag: string): boolean {
  const ifRange = listHeader(request, 'if-range');
  return ifRange === undefined || ifRange.trim() === etag;
}

function named(value: string, etag: string, form: (tag: string) => string): boolean {
  return value.trim() === '*' || (value.match(entityTags) ?? []).some((tag) => form(tag) === etag);
}

/** A list that came in several headers is one list (RFC 9110 § 5.3). */
function listHeader(request: HttpRequest, name: string): string | undefined {
  return request.headers.get(name)?.join(', ');
}
