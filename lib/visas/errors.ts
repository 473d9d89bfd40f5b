/** Why a visa or passport does not give access. Stable words, for logs, metrics and audit rows. */
export type VisaErrorCode = keyof typeof explanations;

const explanations = {
  malformed_token: 'the token is not a JWS in compact form',
  token_too_large: 'the token is too large: a visa may have 16,384 bytes, a passport 262,144',
  alg_not_allowed: 'the signature algorithm is not the one of the key, or neither RS256 nor ES256',
  crit_unsupported: 'the token asks for an extension that is not understood',
  wrong_typ: 'the token is of another type',
  unsupported_visa_format: 'only visas in document form are taken',
  untrusted_issuer: 'the issuer is not trusted for this kind of token',
  untrusted_jku: 'the token names another key set than the one trusted for its issuer',
  wrong_audience: 'the token is for another audience',
  unknown_kid: 'the issuer has no key of this id',
  bad_signature: 'the signature does not verify',
  missing_claim: 'a required claim is missing',
  malformed_claim: 'a claim has the wrong form',
  claim_too_long: 'a claim is longer than allowed',
  expired: 'the token has expired',
  lifetime_too_long: 'the lifetime of the token is longer than its issuer may set',
  not_yet_valid: 'the token is not valid yet',
  issued_in_future: 'the token was issued in the future',
  asserted_in_future: 'the visa was asserted in the future',
  untrusted_source: 'the source of the visa is not trusted with this issuer',
  conditions_not_met: 'the visa has conditions that are not met or not evaluated',
  wrong_visa_type: 'the visa is not a ControlledAccessGrants visa',
  value_mismatch: 'the visa is for another dataset',
  no_matching_visa: 'no visa of the passport grants the dataset',
  denied: 'the operator of the service has denied this token or its subject',
  missing_scope: 'the access token lacks a scope of passports',
} as const;

/** What a code means; `undefined` for an unknown one. */
export function explainVisaError(code: string): string | undefined {
  return Object.hasOwn(explanations, code) ? explanations[code as VisaErrorCode] : undefined;
}

/**
 * The token is refused: the caller must present another one. The message says which rule failed and holds no part of
 * the token.
 */
export class VisaError extends Error {
  override readonly name: string = 'VisaError';
  readonly code: VisaErrorCode;
  constructor(code: VisaErrorCode) {
    super(explanations[code]);
    this.code = code;
  }
}
