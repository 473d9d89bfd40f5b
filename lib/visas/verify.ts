import type { DenyList } from '../contract/deny-list.ts';
import { limits } from '../contract/limits.ts';
import { VisaError } from './errors.ts';
import { collectGrants, type IgnoredVisa, type VerifiedGrants } from './grants.ts';
import { parseToken, type TokenRules, typOf, type UnverifiedToken, type VerifyOptions, verifyToken } from './token.ts';
import type { TrustedIssuers } from './trusted-issuers.ts';
import { type ValidVisa, verifyVisa } from './visa.ts';

const passportType = 'vnd.ga4gh.passport+jwt';

/** AAI 1.2, Passport Format: `typ` is required, so that no other token of a broker is taken for a passport. */
const passportRules: TokenRules = { role: 'passports', typ: [passportType], maxBytes: limits.passportBytes };

/**
 * Verify a token that is a visa or a passport. The unverified token only chooses the rules; each set of rules refuses the other
 * kind. A valid visa of another type, or a passport without a visa that counts, is not refused: its `grants` are empty.
 */
export async function verifyVisaOrPassport(compact: string, options: VerifyOptions): Promise<VerifiedGrants> {
  const token = parseToken(compact);
  if (!looksLikePassport(token)) {
    const visa = await verifyVisa(token, options);
    if (visa.isConditional) throw new VisaError('conditions_not_met');
    const { subject, expiresAt, dependsOn } = visa;
    return collectGrants([visa], { kind: 'visa', subject, expiresAt, dependsOn, ignored: [] });
  }
  // A passport that fails its own checks is refused as a whole (Passport 1.2, General Requirements 8.1).
  const { issuer, claims, sub, expiresAt, dependsOn } = await verifyToken(token, passportRules, options);
  if (!('ga4gh_passport_v1' in claims)) throw new VisaError('missing_claim');
  const { visas, ignored } = await judgeVisas(claims.ga4gh_passport_v1, options);
  return collectGrants(visas, { kind: 'passport', subject: { iss: issuer.iss, sub }, expiresAt, dependsOn, ignored });
}

function looksLikePassport({ header, claims }: UnverifiedToken): boolean {
  if ('ga4gh_visa_v1' in claims) return false;
  return 'ga4gh_passport_v1' in claims || typOf(header) === passportType;
}

/** Judge each visa of `ga4gh_passport_v1` on its own: one that fails is left out (Passport 1.2, General Requirements 8.2). */
export async function judgeVisas(tokens: unknown, options: VerifyOptions) {
  if (!Array.isArray(tokens)) throw new VisaError('malformed_claim');
  if (tokens.length > limits.visasPerPassport) throw new VisaError('claim_too_long');
  const visas: ValidVisa[] = [];
  const ignored: IgnoredVisa[] = [];
  for (const [position, token] of tokens.entries()) {
    try {
      if (typeof token !== 'string') throw new VisaError('malformed_token');
      const visa = await verifyVisa(parseToken(token), options);
      if (visa.isConditional) ignored.push({ position, reason: 'conditions_not_met', datasetId: visa.datasetId });
      else visas.push(visa);
    } catch (error) {
      if (!(error instanceof VisaError)) throw error;
      ignored.push({ position, reason: error.code });
    }
  }
  return { visas, ignored };
}

/** How one deployment verifies tokens. Every function that verifies uses it. */
export interface VisaRules {
  readonly issuers: TrustedIssuers;
  /** Verify a visa or passport at this moment. Nothing is remembered between calls. */
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
