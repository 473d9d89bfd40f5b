import { limits } from '../contract/limits.ts';
import type { Subject } from '../contract/outbox-key.ts';
import { grantType } from '../contract/reasons.ts';
import { VisaError } from './errors.ts';
import {
  isAhead,
  isObject,
  type TokenRules,
  text,
  typOf,
  type UnverifiedToken,
  type VerifiedToken,
  type VerifyOptions,
  verifyToken,
} from './token.ts';

/** A visa in force, from a trusted issuer and source. */
export interface ValidVisa {
  readonly subject: Subject;
  readonly expiresAt: Date;
  readonly type: string;
  /** Whether it has conditions, which this service does not evaluate: such a visa grants nothing (Passport 1.2, conditions). */
  readonly isConditional: boolean;
  /** The dataset id that `value` names; `undefined` for a visa of another type or for a dataset of another archive. */
  readonly datasetId: string | undefined;
  /** See `DatasetGrant`. */
  readonly dependsOn: readonly string[];
}

/** Characters of a URL claim (Passport 1.2, URL Claims). */
const urlClaimLength = 255;

/** Passport 1.2, Visa Format: `typ` is optional in a visa. */
const rules: TokenRules = {
  role: 'visas',
  typ: [undefined, 'jwt', 'vnd.ga4gh.visa+jwt'],
  maxBytes: limits.visaBytes,
};

/** Verify one visa in document form. A valid visa of any type comes back; only one of {@link grantType} can grant. */
export async function verifyVisa(token: UnverifiedToken, options: VerifyOptions): Promise<ValidVisa> {
  if (isVisaAccessToken(token)) throw new VisaError('unsupported_visa_format');
  const verified = await verifyToken(token, rules, options);
  checkDocumentForm(verified);
  const { issuer, claims, sub, expiresAt, dependsOn } = verified;
  if (!('ga4gh_visa_v1' in claims)) throw new VisaError('missing_claim');
  const visa = claims.ga4gh_visa_v1;
  if (!isObject(visa)) throw new VisaError('malformed_claim');

  // Passport 1.2, Visa Object Claims: type, asserted, value and source are required.
  const type = text(visa, 'type');
  if (isAhead(visa, 'asserted', options.now)) throw new VisaError('asserted_in_future');
  const value = text(visa, 'value');
  const source = urlClaim(visa, 'source');
  const by = 'by' in visa ? text(visa, 'by') : undefined;
  const isConditional = hasConditions(visa);
  if (issuer.sources && !issuer.sources.has(source)) throw new VisaError('untrusted_source');

  const valid = { subject: { iss: issuer.iss, sub }, expiresAt, type, isConditional, dependsOn };
  if (type !== grantType) return { ...valid, datasetId: undefined };
  urlClaim(visa, 'value');
  if (by === undefined) throw new VisaError('missing_claim');
  if (issuer.by && !issuer.by.has(by)) throw new VisaError('untrusted_source');
  return { ...valid, datasetId: issuer.datasetIdOf(value) };
}

/**
 * The deprecated form: a Visa Access Token has a `scope` and no `jku`, and would have to be confirmed by polling its
 * issuer (AAI 1.2, Conformance for Visa Issuers 1.2; Passport Clearinghouses 5.2).
 */
function isVisaAccessToken({ header, claims }: UnverifiedToken): boolean {
  return typOf(header) === 'at+jwt' || (!('jku' in header) && 'scope' in claims);
}

/**
 * AAI 1.2, Conformance for Visa Issuers 1.1: a document visa names its `jku`, and a `scope` of it lacks `openid`.
 * Without a configured `jku` the keys were given out of band and the token's adds nothing, so it may be absent.
 */
function checkDocumentForm({ issuer, header, claims }: VerifiedToken): void {
  if (issuer.jku !== undefined && !('jku' in header)) throw new VisaError('missing_claim');
  if ('scope' in claims && text(claims, 'scope').split(' ').includes('openid')) throw new VisaError('malformed_claim');
}

/** An opaque string that is never fetched. */
function urlClaim(visa: VerifiedToken['claims'], name: string): string {
  const url = text(visa, name);
  if (url.length > urlClaimLength) throw new VisaError('claim_too_long');
  return url;
}

/** Only the empty list restricts nothing; `[[]]` is not empty. */
function hasConditions({ conditions = [] }: VerifiedToken['claims']): boolean {
  if (!Array.isArray(conditions)) throw new VisaError('malformed_claim');
  return conditions.length > 0;
}
