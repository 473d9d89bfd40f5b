import { DataOutError } from '../../errors.ts';
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
export function withAllowedOrigin<Body extends ReplyBody>(
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

/** Methods that ask for nothing but information (RFC 9110 § 9.2.1). Pages of other origins cannot read the replies. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const ownSites: ReadonlySet<string> = new Set(['same-origin', 'none']);

/**
 * Refuses a request that a browser sent for a page of another origin. A browser adds the password that it knows to such a
 * request. Programs send neither of the two headers by which it is known, so their requests pass.
 *
 * @param ownOrigin what `Origin` is on the service's own page
 * @throws `foreign_origin` for a method that may change something, with another `Origin` (RFC 6454 § 7.3; also `null`),
 * or a `Sec-Fetch-Site` (Fetch Metadata Request Headers § 2.4) other than `same-origin` and `none`
 */
export function refuseCrossOrigin(
  { method, headers }: Pick<HttpRequest, 'method' | 'headers'>,
  ownOrigin: string,
): void {
  if (safeMethods.has(method)) return;
  const all = (name: string) => (headers.get(name) ?? []).map((value) => value.trim().toLowerCase());
  const isOwn =
    all('origin').every((origin) => origin === ownOrigin.toLowerCase()) &&
    all('sec-fetch-site').every((site) => ownSites.has(site));
  if (isOwn) return;
  throw new DataOutError(
    'foreign_origin',
    "A web page of another origin sent this request. Nothing was done. Use the service's own page, or a program that sends neither Origin nor Sec-Fetch-Site.",
  );
}
