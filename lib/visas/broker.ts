import { limits } from '../contract/limits.ts';
import type { Subject } from '../contract/outbox-key.ts';
import { isObject, text } from './claims.ts';
import { VisaError } from './errors.ts';
import { type JudgedVisas, judgeVisas } from './passport.ts';
import { parseToken, type TokenRules, type VerifyOptions, verifyToken } from './token.ts';

// Tokens that a broker gives out besides passports. The service accepts visas and passports only and calls no broker,
// so it uses neither function. An API that fetches visas from a UserInfo endpoint needs both.

/** AAI 1.2, Passport-Scoped Access Token: `typ` must say so, as either of these. */
const accessTokenRules: TokenRules = { role: 'passports', typ: ['at+jwt', 'jwt'], maxBytes: limits.visaBytes };

/**
 * Verify a passport-scoped access token. It grants nothing: visas inside it make it invalid. The caller fetches the
 * visas from the broker's UserInfo endpoint.
 *
 * @throws VisaError
 */
export async function verifyAccessToken(token: string, options: VerifyOptions): Promise<Subject> {
  const { issuer, claims, sub } = await verifyToken(parseToken(token), accessTokenRules, options);
  if ('ga4gh_passport_v1' in claims || 'ga4gh_visa_v1' in claims) throw new VisaError('malformed_claim');
  const scope = 'scope' in claims ? text(claims, 'scope').split(' ') : [];
  if (!scope.includes('openid') || !scope.includes('ga4gh_passport_v1')) throw new VisaError('missing_scope');
  return { iss: issuer.iss, sub };
}

/**
 * Judge the visas in the body of a UserInfo answer. The body has no signature, so it is as trustworthy as its
 * connection; each visa is verified. A body without `ga4gh_passport_v1` has no visas.
 *
 * @throws VisaError when the body is not of this form
 */
export async function judgeUserInfo(body: unknown, options: VerifyOptions): Promise<JudgedVisas> {
  if (!isObject(body)) throw new VisaError('malformed_token');
  return judgeVisas(body.ga4gh_passport_v1 ?? [], options);
}
