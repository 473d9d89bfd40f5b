import { DataOutError } from '../../errors.ts';
import { type VerifiedGrants, VisaError, type VisaRules } from '../../visas/index.ts';
import { type HttpRequest, singleHeader } from './request.ts';

export interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** `token68` (RFC 9110 § 11.2): the form of a Bearer token. */
export const token68 = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * User name and password of `Authorization: Basic …`. The scheme is case-insensitive, base64 is strict, text is
 * UTF-8. The first colon ends the user name, so a password may hold colons.
 * @throws `unauthenticated` for everything else; the message never repeats what was sent
 */
export function parseBasic(value: string): BasicCredentials {
  const encoded = /^basic +([^ ]+) *$/i.exec(value)?.[1];
  if (!encoded || !base64.test(encoded)) throw malformedBasic();
  const bytes = Buffer.from(encoded, 'base64');
  // A second spelling of the same bytes (stray bits before the padding) is not base64 of RFC 4648 § 3.5.
  const text = bytes.toString('base64') === encoded ? decodeUtf8(bytes) : undefined;
  const colon = text?.indexOf(':') ?? -1;
  // RFC 7617 § 2: no control characters in either.
  if (text === undefined || colon < 1 || /\p{Cc}/u.test(text)) {
    throw malformedBasic();
  }
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** The token of a `Bearer` header (RFC 6750 § 2.1), not decoded. `name` is the header that it came in. */
export function parseBearer(value: string, name: string): string {
  const token = /^bearer +([^ ]+) *$/i.exec(value)?.[1];
  if (!token || !token68.test(token))
    throw new DataOutError('unauthenticated', `${name} is not a well-formed Bearer header: send Bearer and the token`);
  return token;
}

/** The token of `Authorization: Bearer <token>`, which is a visa or a passport. */
export function bearerToken(request: Pick<HttpRequest, 'headers'>): string {
  const value = singleHeader(request, 'Authorization');
  if (!value) throw new DataOutError('unauthenticated', 'a visa or a passport is missing: send Authorization: Bearer');
  return parseBearer(value, 'Authorization');
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function malformedBasic(): DataOutError {
  return new DataOutError(
    'unauthenticated',
    'Authorization is not well-formed HTTP Basic: send Basic and the base64 of user:password',
  );
}

/**
 * What a caller's token says at this moment. Every request verifies its token: nothing is remembered between them.
 *
 * @param token a visa or a passport
 */
export async function verifiedToken(token: string, rules: Pick<VisaRules, 'verify'>): Promise<VerifiedGrants> {
  try {
    return await rules.verify(token);
  } catch (error) {
    if (!(error instanceof VisaError)) throw error;
    throw new DataOutError('unauthenticated', `the visa was refused (${error.code}): ${error.message}`);
  }
}
