import { commonHeaders, type HttpReply } from '../http/reply.ts';

/** Seconds for which a cache may keep the keys. For that long, a reader may not know the newest one. */
const maxAgeSeconds = 3600;

/** `GET /.well-known/jwks.json`: the public keys of delivery receipts, as a JWK set (RFC 7517 § 5). The same for every caller. */
export function receiptKeysReply(requestId: string, keys: readonly object[]): HttpReply {
  return {
    status: 200,
    headers: {
      ...commonHeaders(requestId),
      'Cache-Control': `public, max-age=${maxAgeSeconds}`,
      'Content-Type': 'application/jwk-set+json',
    },
    body: JSON.stringify({ keys }),
  };
}
