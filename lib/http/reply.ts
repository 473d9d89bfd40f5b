/**
 * What a reply carries: text, or pieces as they come. The memory of a piece of bytes goes with it: who sends it gives it
 * back, and whoever made it must not use it again.
 */
export type ReplyBody = string | AsyncIterable<string | Uint8Array>;

/** A reply as the logic makes it. A body that is iterated is sent piece by piece; if it throws, the reply breaks off. */
export interface HttpReply<Body extends ReplyBody = string> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/**
 * Headers of every reply. Nothing here may be kept by a cache: listings, locations and even the outcome of a request
 * belong to one caller.
 */
export function commonHeaders(requestId: string): Record<string, string> {
  return { 'X-Request-Id': requestId, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
}

/** A reply with a small JSON document. */
export function jsonReply(requestId: string, document: unknown, status = 200): HttpReply {
  return {
    status,
    headers: { ...commonHeaders(requestId), 'Content-Type': 'application/json' },
    body: JSON.stringify(document),
  };
}
