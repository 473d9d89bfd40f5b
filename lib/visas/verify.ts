import type { DenyList } from '../contract/deny-list.ts';
import { limits } from '../contract/limits.ts';
import { VisaError } from './errors.ts';
import { collectGrants, type VerifiedGrants } from './grants.ts';
import { judgeVisas } from './passport.ts';
import { parseToken, type TokenRules, typOf, type UnverifiedToken, type VerifyOptions, verifyToken } from './token.ts';
import type { TrustedIssuers } from './trusted-issuers.ts';
import { verifyVisaToken } from './visa.ts';

const passportType = 'vnd.ga4gh.passport+jwt';

/** AAI 1.2, Passport Format: `typ` is required, so that no other token of a broker is taken for a passport. */
const passportRules: TokenRules = { role: 'passports', typ: [passportType], maxBytes: limits.passportBytes };

/**
 * Verify a token that is a visa or a passport. The unverified token only chooses the rules; each set of rules refuses
 * the other kind.
 *
 * @throws VisaError when the token is refused. A valid visa of another type, or a passport without a visa that counts,
 *   is not refused: its `grants` are empty
 */
export async function verifyVisaOrPassport(token: string, options: VerifyOptions): Promise<VerifiedGrants> {
  const parsed = parseToken(token);
  return looksLikePassport(parsed) ? passportGrants(parsed, options) : visaGrants(parsed, options);
}

/** As {@link verifyVisaOrPassport}, for a visa alone. @throws VisaError also when its conditions are not met */
export async function verifyVisa(token: string, options: VerifyOptions): Promise<VerifiedGrants> {
  return visaGrants(parseToken(token), options);
}

/** As {@link verifyVisaOrPassport}, for a passport alone. @throws VisaError */
export async function verifyPassport(token: string, options: VerifyOptions): Promise<VerifiedGrants> {
  return passportGrants(parseToken(token), options);
}

function looksLikePassport({ header, claims }: UnverifiedToken): boolean {
  if ('ga4gh_visa_v1' in claims) return false;
  return 'ga4gh_passport_v1' in claims || typOf(header) === passportType;
}

async function visaGrants(token: UnverifiedToken, options: VerifyOptions): Promise<VerifiedGrants> {
  const visa = await verifyVisaToken(token, options);
  // Only other visas can meet conditions, and a single visa has none beside it.
  if (visa.conditions) throw new VisaError('conditions_not_met');
  const { subject, expiresAt, dependsOn } = visa;
  return collectGrants([visa], { kind: 'visa', subject, expiresAt, dependsOn, ignored: [] });
}

/** A passport that fails its own checks is refused as a whole (Passport 1.2, General Requirements 8.1). */
async function passportGrants(token: UnverifiedToken, options: VerifyOptions): Promise<VerifiedGrants> {
  const { issuer, claims, sub, expiresAt, dependsOn } = await verifyToken(token, passportRules, options);
  if (!('ga4gh_passport_v1' in claims)) throw new VisaError('missing_claim');
  const { visas, ignored } = await judgeVisas(claims.ga4gh_passport_v1, options);
  return collectGrants(visas, { kind: 'passport', subject: { iss: issuer.iss, sub }, expiresAt, dependsOn, ignored });
}

/** How one deployment verifies tokens. Every function that verifies uses it. */
export interface VisaRules {
  readonly issuers: TrustedIssuers;
  /**
   * Verify a visa or passport at this moment. Nothing is remembered between calls.
   *
   * @throws VisaError when the token is refused; also the errors of reading the deny list
   */
  readonly verify: (token: string) => Promise<VerifiedGrants>;
  /** The current deny list, for what was made out of a token that has been verified. */
  readonly denied: () => Promise<DenyList>;
}

/** @param parts.denied reads the current deny list. Called before each token is verified. */
export function visaRules(parts: {
  readonly issuers: TrustedIssuers;
  readonly denied: () => Promise<DenyList>;
  readonly now: () => Date;
}): VisaRules {
  const { issuers, denied, now } = parts;
  return {
    issuers,
    denied,
    verify: async (token) => verifyVisaOrPassport(token, { issuers, denied: await denied(), now: now() }),
  };
}
