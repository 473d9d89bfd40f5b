import { InvalidRequestError, UnauthenticatedError } from '../../errors.ts';
import { parseBearer, token68 } from '../../http/authorization.ts';
import { type HttpRequest, singleHeader } from '../../http/request.ts';

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
  if (plain && !token68.test(plain)) throw new UnauthenticatedError('X-GA4GH-Visa is not a token: send the visa alone');
  if (fromBearer && plain && fromBearer !== plain) {
    throw new InvalidRequestError([{ field: 'X-GA4GH-Visa', message: 'differs from the visa in Proxy-Authorization' }]);
  }
  // One of the two is set by now. Verification refuses an empty token, as it does everything that is no visa.
  return fromBearer ?? plain ?? '';
}
