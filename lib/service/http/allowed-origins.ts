import type { HttpReply, ReplyBody } from './reply.ts';
import type { HttpRequest } from './request.ts';

/** Seconds for which a browser may remember that a request is allowed: 30 days, as htsget says. */
const maxAgeSeconds = 2_592_000;

/** The `Origin` of a request, if it is one of these. */
export function allowedOrigin(
  { headers }: Pick<HttpRequest, 'headers'>,
  origins: ReadonlySet<string>,
): string | undefined {
  const [origin = '', ...others] = headers.get('origin') ?? [];
  return others.length === 0 && origins.has(origin) ? origin : undefined;
}

/** The reply, readable to the page that asked for it where its origin is allowed (Fetch § 3.2). It takes no cookies. */
export function shared<Body extends ReplyBody>(
  reply: HttpReply<Body>,
  request: Pick<HttpRequest, 'headers'>,
  origins: ReadonlySet<string>,
): HttpReply<Body> {
  const origin = allowedOrigin(request, origins);
  if (origins.size === 0) return reply;
  const headers = {
    ...reply.headers,
    Vary: 'Origin',
    ...(origin && {
      'Access-Control-Allow-Origin': origin,
      'Access-Control-Expose-Headers': 'Content-Length, Content-Range, ETag, X-Request-Id',
    }),
  };
  return { ...reply, headers };
}

/** The reply to a preflight request; without the headers that allow anything where the origin is not allowed. */
export function preflightHeaders(
  request: Pick<HttpRequest, 'headers'>,
  origins: ReadonlySet<string>,
  allowed: { readonly methods: string; readonly headers: readonly string[] },
): Readonly<Record<string, string>> {
  if (!allowedOrigin(request, origins)) return {};
  return {
    'Access-Control-Allow-Methods': allowed.methods,
    'Access-Control-Allow-Headers': allowed.headers.join(', '),
    'Access-Control-Max-Age': String(maxAgeSeconds),
  };
}
