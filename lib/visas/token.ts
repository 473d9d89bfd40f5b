import { errors, jwtVerify } from 'jose';
import { isNestedTooDeeply } from '../common/untrusted-json.ts';
import { type DenyList, entryHash, tokenId } from '../contract/deny-list.ts';
import { limits } from '../contract/limits.ts';
import { VisaError, type VisaErrorCode } from './errors.ts';
import type { IssuerKey } from './keys.ts';
import type { TokenRole, TrustedIssuer, TrustedIssuers } from './trusted-issuers.ts';

/** What verification needs. Nothing is fetched. */
export interface VerifyOptions {
  readonly issuers: TrustedIssuers;
  /** Tokens and subjects that the operator denied. They are refused even when all else is valid. */
  readonly denied: DenyList;
  readonly now: Date;
}

/** A JSON object whose members are still unchecked. */
type Claims = Readonly<Record<string, unknown>>;

/** A JWS in compact form, split into its parts. Nothing in it has been verified. */
export interface UnverifiedToken {
  readonly compact: string;
  readonly signature: string;
  readonly header: Claims;
  readonly claims: Claims;
}

/** A token in force, with a valid signature by a key of an issuer that is trusted for its role. */
export interface VerifiedToken {
  readonly issuer: TrustedIssuer;
  readonly header: Claims;
  readonly claims: Claims;
  readonly sub: string;
  readonly expiresAt: Date;
  /** Hashes (`entryHash`) by which the deny list may name it: its subject's and its own. */
  readonly dependsOn: readonly string[];
}

/** What differs between the kinds of token. */
export interface TokenRules {
  /** What the issuer must be trusted for. */
  readonly role: TokenRole;
  /** Media types that `typ` may name, as {@link typOf} gives them. */
  readonly typ: readonly (string | undefined)[];
  readonly maxBytes: number;
}

/** Seconds by which the clocks of issuer and service may differ. */
const clockSkewSeconds = 60;
const lastSecond = 8.64e12;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Split a token into its parts, which show its kind; {@link verifyToken} checks the size that its kind may have. Base64url must
 * be in canonical form, without padding (RFC 7515 § 2), so that a token has one spelling.
 */
export function parseToken(token: string): UnverifiedToken {
  if (Buffer.byteLength(token) > limits.passportBytes) throw new VisaError('token_too_large');
  const parts = token.split('.');
  const [header, claims, signature] = parts;
  if (parts.length !== 3 || !header || !claims || signature === undefined) throw new VisaError('malformed_token');
  return { compact: token, signature, header: jsonObject(header), claims: jsonObject(claims) };
}

/** The bytes of a part; `undefined` unless it is spelt in the one canonical way. */
function canonicalBytes(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url');
  return bytes.toString('base64url') === part ? bytes : undefined;
}

function jsonObject(part: string): Claims {
  const bytes = canonicalBytes(part);
  if (!bytes || isNestedTooDeeply(bytes)) throw new VisaError('malformed_token');
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch {
    throw new VisaError('malformed_token');
  }
  if (!isObject(value)) throw new VisaError('malformed_token');
  return value;
}

/**
 * Check everything that visas and passports have in common. Key material and addresses in the token (`jwk`, `x5u`, `x5c`,
 * `jku`) are never used (RFC 8725 § 3.10).
 */
export async function verifyToken(
  token: UnverifiedToken,
  rules: TokenRules,
  { issuers, denied, now }: VerifyOptions,
): Promise<VerifiedToken> {
  const { header, claims } = token;
  if (Buffer.byteLength(token.compact) > rules.maxBytes) throw new VisaError('token_too_large');
  // No extension is understood, so none may be critical; an empty list is not allowed either (RFC 7515 § 4.1.11).
  if ('crit' in header) throw new VisaError('crit_unsupported');
  if (header.alg !== 'RS256' && header.alg !== 'ES256') throw new VisaError('alg_not_allowed');
  if (!rules.typ.includes(typOf(header))) throw new VisaError('wrong_typ');
  const issuer = issuers.get(text(claims, 'iss'));
  if (!issuer?.issues.has(rules.role)) throw new VisaError('untrusted_issuer');
  // AAI 1.2, Passport Clearinghouses 5.3: the pair (iss, jku) is what is trusted.
  if ('jku' in header && issuer.jku !== undefined && header.jku !== issuer.jku) throw new VisaError('untrusted_jku');
  const key = typeof header.kid === 'string' ? issuer.jwks.byId.get(header.kid) : undefined;
  if (!key) throw new VisaError('unknown_kid');
  if (key.alg !== header.alg) throw new VisaError('alg_not_allowed');
  await verifySignatureAndTimes(token, key, now);
  if (issuer.audience && 'aud' in claims) checkAudience(claims.aud, issuer.audience);
  const sub = text(claims, 'sub');
  const exp = numericDate(claims, 'exp');
  if ('nbf' in claims) numericDate(claims, 'nbf');
  // Some issuers sign for as long as an approval lasts, which can be years.
  const longest = numericDate(claims, 'iat') + issuer.maxLifetimeSeconds;
  if (longest + clockSkewSeconds <= now.getTime() / 1000) throw new VisaError('lifetime_too_long');
  const { iss } = issuer;
  const dependsOn = [{ iss, sub }, tokenId(token.compact, iss, claims.jti)].map(entryHash);
  if (dependsOn.some((hash) => denied.has(hash))) throw new VisaError('denied');
  return { issuer, header, claims, sub, expiresAt: new Date(Math.min(exp, longest) * 1000), dependsOn };
}

/** Passport 1.2, Visa Format; RFC 7519 § 4.1: `exp` is in the future, `iat` and `nbf` are not, all with the leeway. */
async function verifySignatureAndTimes(token: UnverifiedToken, { key, alg }: IssuerKey, now: Date): Promise<void> {
  if (!canonicalBytes(token.signature)) throw new VisaError('bad_signature');
  try {
    await jwtVerify(token.compact, key, {
      algorithms: [alg],
      currentDate: now,
      clockTolerance: clockSkewSeconds,
      requiredClaims: ['sub', 'exp'],
      // Without it jose does not look at `iat`. An issuer's longest lifetime is checked later.
      maxTokenAge: Number.MAX_SAFE_INTEGER,
    });
  } catch (error) {
    throw error instanceof errors.JOSEError ? new VisaError(codeOf(error)) : error;
  }
  // jose compares whole seconds, but `exp` can have a fraction.
  const { exp } = token.claims;
  if (typeof exp === 'number' && exp + clockSkewSeconds <= now.getTime() / 1000) throw new VisaError('expired');
}

const timeErrors: Readonly<Record<string, VisaErrorCode>> = {
  exp: 'expired',
  nbf: 'not_yet_valid',
  iat: 'issued_in_future',
};

function codeOf(error: errors.JOSEError): VisaErrorCode {
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'bad_signature';
  if (!(error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired))
    return 'malformed_token';
  if (error.reason === 'missing') return 'missing_claim';
  return (error.reason === 'check_failed' && timeErrors[error.claim]) || 'malformed_claim';
}

/** RFC 7519 § 4.1.3: one text or a list of them, compared with their case. */
function checkAudience(aud: unknown, audience: ReadonlySet<string>): void {
  const names: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!names.every((name) => typeof name === 'string')) throw new VisaError('malformed_claim');
  if (!names.some((name) => audience.has(name))) throw new VisaError('wrong_audience');
}

/** `typ` as RFC 7515 § 4.1.9 compares it; an empty string, which no kind allows, when it is not a string. */
export function typOf(header: Claims): string | undefined {
  if (!('typ' in header)) return undefined;
  return typeof header.typ === 'string' ? header.typ.toLowerCase().replace(/^application\//, '') : '';
}

export function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A required, non-empty string. Lone surrogates are refused: UTF-8 makes them all the same bytes. */
export function text(claims: Claims, name: string): string {
  const value = present(claims, name);
  if (typeof value !== 'string' || value === '' || !value.isWellFormed()) throw new VisaError('malformed_claim');
  return value;
}

/** A required NumericDate: seconds since 1970, fractions allowed (RFC 7519 § 2). */
function numericDate(claims: Claims, name: string): number {
  const value = present(claims, name);
  if (typeof value !== 'number' || !(value >= 0 && value <= lastSecond)) throw new VisaError('malformed_claim');
  return value;
}

function present(claims: Claims, name: string): unknown {
  if (!(name in claims)) throw new VisaError('missing_claim');
  return claims[name];
}

/** Whether a required time is in the future, even for a clock that is ahead of ours by the leeway. */
export function isAhead(claims: Claims, name: string, now: Date): boolean {
  return numericDate(claims, name) > now.getTime() / 1000 + clockSkewSeconds;
}
