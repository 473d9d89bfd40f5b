import { fileSizeHeader } from '../../contract/http.ts';
import type { ByteRange } from '../../crypt4gh/index.ts';
import { PreconditionFailedError } from '../../errors.ts';
import { commonHeaders, type HttpReply } from './reply.ts';
import type { HttpRequest } from './request.ts';

/** Entity tags of a list, with `W/` and quotes (RFC 9110 § 8.8.3). */
const entityTags = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/**
 * The answer that the caller's conditions call for, in the order of RFC 9110 § 13.2.2. Conditions with dates are ignored:
 * replies carry no `Last-Modified` to compare.
 *
 * @param sent strong entity tag and size, in bytes, of the representation
 * @returns 304, or `undefined` when the request goes on
 * @throws PreconditionFailedError
 */
export function notModified(
  request: HttpRequest,
  sent: { readonly etag: string; readonly size: number },
): HttpReply | undefined {
  const { etag, size } = sent;
  const ifMatch = listHeader(request, 'if-match');
  // Compared strongly (RFC 9110 § 13.1.1), If-None-Match weakly (§ 13.1.2).
  if (ifMatch !== undefined && !named(ifMatch, etag, (tag) => tag)) {
    throw new PreconditionFailedError('The file is not the one that If-Match names. Begin again without If-Match.');
  }
  const ifNoneMatch = listHeader(request, 'if-none-match');
  if (ifNoneMatch === undefined || !named(ifNoneMatch, etag, (tag) => tag.replace(/^W\//, ''))) return undefined;
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

function named(value: string, etag: string, form: (tag: string) => string): boolean {
  return value.trim() === '*' || (value.match(entityTags) ?? []).some((tag) => form(tag) === etag);
}

/** A list in several headers is one list (RFC 9110 § 5.3). */
function listHeader(request: HttpRequest, name: string): string | undefined {
  return request.headers.get(name)?.join(', ');
}

/**
 * The bytes that a `Range` header selects of `size` bytes (RFC 9110 § 14.1.2, § 14.2).
 *
 * @returns `undefined` when the header is ignored and the whole goes out: no header, another unit, several ranges, a malformed
 * one, or a suffix of an empty file; `unsatisfiable` when the range begins after the end, or is a suffix of 0 bytes
 */
export function selectedRange(value: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const set = /^bytes=(.*)$/is.exec(value ?? '')?.[1];
  // A list may have empty members, and white space around them (RFC 9110 § 5.6.1.2).
  const specs =
    set
      ?.split(',')
      .map((spec) => spec.trim())
      .filter((spec) => spec !== '') ?? [];
  const [, first, last] = /^(\d*)-(\d*)$/.exec(specs.length === 1 ? (specs[0] ?? '') : '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') return suffix(Number(last), size);
  // BigInt: a client may ask for everything by a last position of many digits.
  if (last !== '' && BigInt(last) < BigInt(first)) return undefined;
  const start = Number(first);
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}

function suffix(length: number, size: number): ByteRange | 'unsatisfiable' | undefined {
  if (length === 0) return 'unsatisfiable';
  // Satisfiable by the standard, though `Content-Range` has no way to say "0 bytes".
  if (size === 0) return undefined;
  return { start: Math.max(0, size - length), end: size };
}
