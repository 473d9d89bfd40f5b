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
 * No page may show one in a frame: it could lead the reader of the frame to click, or to drag data out of it.
 */
export function commonHeaders(requestId: string): Record<string, string> {
  return {
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  };
}

/** A reply with a small JSON document. */
export function jsonReply(requestId: string, document: unknown, status = 200): HttpReply {
  return {
    status,
    headers: { ...commonHeaders(requestId), 'Content-Type': 'application/json' },
    body: JSON.stringify(document),
  };
}
