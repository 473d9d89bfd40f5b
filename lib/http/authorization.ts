import { InvalidRequestError, UnauthenticatedError } from '../errors.ts';
import { type HttpRequest, singleHeader } from './request.ts';

/** What HTTP Basic carries (RFC 7617). */
export interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** `token68` (RFC 9110 § 11.2): what a Bearer token may consist of. */
const token68 = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * User name and password of `Authorization: Basic …`. The scheme is case-insensitive, base64 is taken strictly, text is
 * UTF-8; only the first colon separates, so a password may hold colons.
 * @throws UnauthenticatedError for everything else; the message never repeats what was sent.
 */
export function parseBasic(value: string): BasicCredentials {
  const encoded = /^basic +([^ ]+) *$/i.exec(value)?.[1];
  if (!encoded || !base64.test(encoded)) throw new UnauthenticatedError('Authorization is not well-formed HTTP Basic');
  const bytes = Buffer.from(encoded, 'base64');
  // A second spelling of the same bytes (stray bits before the padding) is no base64 of RFC 4648 § 3.5.
  const text = bytes.toString('base64') === encoded ? decodeUtf8(bytes) : undefined;
  const colon = text?.indexOf(':') ?? -1;
  // RFC 7617 § 2: no control characters in either.
  if (text === undefined || colon < 1 || /\p{Cc}/u.test(text)) {
    throw new UnauthenticatedError('Authorization is not well-formed HTTP Basic');
  }
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/**
 * The token of a `Bearer` header (RFC 6750 § 2.1), not looked into. `name` is the header it came in.
 * @throws UnauthenticatedError when it is not of that form.
 */
export function parseBearer(value: string, name: string): string {
  const token = /^bearer +([^ ]+) *$/i.exec(value)?.[1];
  if (!token || !token68.test(token)) throw new UnauthenticatedError(`${name} is not a well-formed Bearer header`);
  return token;
}

/**
 * The visa or passport of a list or stream request: `Proxy-Authorization: Bearer <token>`, which clients in the field
 * send, or `X-GA4GH-Visa: <token>` for callers behind an intermediary that drops the first.
 * @throws UnauthenticatedError without a usable one. @throws InvalidRequestError when the two disagree.
 */
export function visaToken(request: Pick<HttpRequest, 'headers'>): string {
  const bearer = singleHeader(request, 'Proxy-Authorization');
  const plain = singleHeader(request, 'X-GA4GH-Visa');
  if (!bearer && !plain) {
    throw new UnauthenticatedError('a visa is missing: send Proxy-Authorization: Bearer, or X-GA4GH-Visa');
  }
  const fromBearer = bearer ? parseBearer(bearer, 'Proxy-Authorization') : undefined;
  if (plain && !token68.test(plain)) throw new UnauthenticatedError('X-GA4GH-Visa is not a token');
  if (fromBearer && plain && fromBearer !== plain) {
    throw new InvalidRequestError([{ field: 'X-GA4GH-Visa', message: 'differs from the visa in Proxy-Authorization' }]);
  }
  // One of the two is set by now; an empty token is refused by verification like any other that is no visa.
  return fromBearer ?? plain ?? '';
}

/**
 * The visa or passport of a direct request: `Authorization: Bearer <token>`.
 * @throws UnauthenticatedError without a usable one. @throws InvalidRequestError when there are several.
 */
export function bearerToken(request: Pick<HttpRequest, 'headers'>): string {
  const value = singleHeader(request, 'Authorization');
  if (!value) throw new UnauthenticatedError('a visa or a passport is missing: send Authorization: Bearer');
  return parseBearer(value, 'Authorization');
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
