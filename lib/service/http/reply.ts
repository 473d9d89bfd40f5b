import { safeFileName } from '../../common/names.ts';
import { flagQuery, type HttpRequest } from './request.ts';

/**
 * The body of a reply: text, or pieces as they come. A piece of bytes passes its memory on to the sender, which frees it: the
 * maker must not use the piece again.
 */
export type ReplyBody = string | AsyncIterable<string | Uint8Array>;

/** A reply as the logic makes it. An iterable body is sent piece by piece. If it throws, the reply breaks off. */
export interface HttpReply<Body extends ReplyBody = string> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/**
 * Headers of every reply. No cache may keep a reply: listings, locations and even the outcome of a request belong to one caller.
 * No page may show one in a frame: it could lead the reader of the frame to click, or to drag data out of it. No page of another
 * origin may embed one either, for example as a picture or a script. A page that asks by CORS is not affected.
 */
export function commonHeaders(requestId: string): Record<string, string> {
  return {
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Cross-Origin-Resource-Policy': 'same-origin',
  };
}

export function jsonReply(requestId: string, document: unknown, status = 200): HttpReply {
  return {
    status,
    headers: { ...commonHeaders(requestId), 'Content-Type': 'application/json' },
    body: JSON.stringify(document),
  };
}

/** Seconds for which a cache may keep a public document. For that long, a reader may not know a new key or setting. */
const maxAgeSeconds = 3600;

/** A document below `/.well-known/`, which is the same for every caller. @param type its media type */
export function publicReply(requestId: string, document: object, type: string): HttpReply {
  const { headers, ...reply } = jsonReply(requestId, document);
  return {
    ...reply,
    headers: { ...headers, 'Cache-Control': `public, max-age=${maxAgeSeconds}`, 'Content-Type': type },
  };
}

/** A URL at which S3 serves an object. */
export interface Location {
  readonly url: string;
  readonly expiresAt: Date;
  readonly size: number;
  readonly etag?: string;
}

/**
 * Whether the reply is a redirection. With `redirect=false` it is the URL as JSON, for clients that cannot follow a redirection,
 * or that send `Authorization` on to S3, which refuses it.
 */
export function redirectWanted(request: HttpRequest): boolean {
  return flagQuery(request, 'redirect', true);
}

/** 307 to a presigned URL; or, with `redirect` false, 200 with that URL as JSON. Neither may be kept by a cache. */
export function locationReply(requestId: string, location: Location, redirect: boolean): HttpReply {
  const { url, expiresAt, size, etag } = location;
  if (!redirect) return jsonReply(requestId, { url, expiresAt, size, ...(etag && { etag }) });
  const headers = { ...commonHeaders(requestId), ...(etag && { ETag: etag }), Location: url };
  return { status: 307, headers, body: '' };
}

/**
 * `Content-Disposition` under which a browser saves a file (RFC 6266 § 4.3). A name outside ASCII has the extended form of
 * RFC 8187 beside a plain one, for clients that do not know the first.
 *
 * @param fileName untrusted text, made safe as `safeFileName` does
 */
export function attachment(fileName: string): string {
  const name = safeFileName(fileName);
  const plain = name.replace(/[^\x20-\x7e]|%/gu, '_');
  return `attachment; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${extended(name)}`}`;
}

/** RFC 8187 § 3.2.1: `attr-char` leaves out four characters that `encodeURIComponent` keeps. */
function extended(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
