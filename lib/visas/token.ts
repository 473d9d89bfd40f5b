import { compactVerify, errors } from 'jose';
import { isNestedTooDeeply } from '../common/untrusted-json.ts';
import { type DenyList, entryHash } from '../contract/deny-list.ts';
import { limits } from '../contract/limits.ts';
import { type Claims, checkRegisteredClaims, isObject, text } from './claims.ts';
import { VisaError } from './errors.ts';
import type { IssuerKey } from './keys.ts';
import type { TokenRole, TrustedIssuer, TrustedIssuers } from './trusted-issuers.ts';

/** What verification needs. Nothing is fetched. */
export interface VerifyOptions {
  readonly issuers: TrustedIssuers;
  /** Tokens and subjects that the operator denied. They are refused even when all else is valid. */
  readonly denied: DenyList;
  readonly now: Date;
}

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
  /** Hashes (`entryHash`) by which the deny list may name it: its subject's, and its own when it has a `jti`. */
  readonly dependsOn: readonly string[];
}

/** What differs between the kinds of token. */
export interface TokenRules {
  /** What the issuer must be trusted for. */
  readonly role: TokenRole;
  /**
   * Media types that `typ` may name, in lower case and without `application/`. `undefined` among them: `typ` may be
   * absent.
   */
  readonly typ: readonly (string | undefined)[];
  /** Size of the token. */
  readonly maxBytes: number;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Split a token into its parts, which show its kind. {@link verifyToken} checks the size that its kind may have.
 * Base64url must be in canonical form, without padding (RFC 7515 § 2), so that a token has one spelling.
 *
 * @throws VisaError `token_too_large`, `malformed_token`
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
 * Check everything that visas, passports and access tokens have in common. Key material and addresses in the token
 * (`jwk`, `x5u`, `x5c`, `jku`) are never used (RFC 8725 § 3.10).
 *
 * @throws VisaError
 */
export async function verifyToken(
  token: UnverifiedToken,
  rules: TokenRules,
  { issuers: { issuers }, denied, now }: VerifyOptions,
): Promise<VerifiedToken> {
  const { header, claims } = token;
  if (Buffer.byteLength(token.compact) > rules.maxBytes) throw new VisaError('token_too_large');
  // No extension is understood, so none may be critical; an empty list is not allowed either (RFC 7515 § 4.1.11).
  if ('crit' in header) throw new VisaError('crit_unsupported');
  if (header.alg !== 'RS256' && header.alg !== 'ES256') throw new VisaError('alg_not_allowed');
  const typ = typOf(header);
  if (!rules.typ.includes(typ)) throw new VisaError('wrong_typ');
  const issuer = issuers.get(text(claims, 'iss'));
  if (!issuer?.issues.has(rules.role)) throw new VisaError('untrusted_issuer');
  // AAI 1.2, Passport Clearinghouses 5.3: the pair (iss, jku) is what is trusted.
  if ('jku' in header && issuer.jku !== undefined && header.jku !== issuer.jku) throw new VisaError('untrusted_jku');
  const key = typeof header.kid === 'string' ? issuer.keys.get(header.kid) : undefined;
  if (!key) throw new VisaError('unknown_kid');
  if (key.alg !== header.alg) throw new VisaError('alg_not_allowed');
  await verifySignature(token, key);
  if (issuer.audience && 'aud' in claims) checkAudience(claims.aud, issuer.audience);
  const { sub, expiresAt } = checkRegisteredClaims(claims, { now, maxLifetimeSeconds: issuer.maxLifetimeSeconds });
  const { iss } = issuer;
  const jti = claims.jti;
  const dependsOn = [entryHash({ iss, sub }), ...(typeof jti === 'string' ? [entryHash({ iss, jti })] : [])];
  if (dependsOn.some((hash) => denied.has(hash))) throw new VisaError('denied');
  return { issuer, header, claims, sub, expiresAt, dependsOn };
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

async function verifySignature({ compact, signature }: UnverifiedToken, { key, alg }: IssuerKey): Promise<void> {
  if (!canonicalBytes(signature)) throw new VisaError('bad_signature');
  try {
    await compactVerify(compact, key, { algorithms: [alg] });
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) throw new VisaError('bad_signature');
    if (error instanceof errors.JOSEError) throw new VisaError('malformed_token');
    throw error;
  }
}
