import { ForeignOriginError } from '../../errors.ts';
import type { HttpRequest } from './request.ts';

/** Methods that ask for nothing but information (RFC 9110 § 9.2.1). Pages of other origins cannot read the replies. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const ownSites: ReadonlySet<string> = new Set(['same-origin', 'none']);

/**
 * Refuses a request that a browser sent for a page of another origin. A browser adds the password that it knows to such a
 * request. Programs send neither of the two headers by which it is known, so their requests pass.
 *
 * @param ownOrigin what `Origin` is on the service's own page
 * @throws ForeignOriginError for a method that may change something, with another `Origin` (RFC 6454 § 7.3; also `null`), or a
 * `Sec-Fetch-Site` (Fetch Metadata Request Headers § 2.4) other than `same-origin` and `none`
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
  throw new ForeignOriginError(
    "A web page of another origin sent this request. Nothing was done. Use the service's own page, or a program that sends neither Origin nor Sec-Fetch-Site.",
  );
}
