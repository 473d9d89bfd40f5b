/** Why a visa or passport does not give access. Stable words, for logs, metrics and audit rows. */
export type VisaErrorCode = keyof typeof explanations;

const explanations = {
  'malformed-token': 'the token is not a JWS in compact form',
  'token-too-large': 'the token is too large: a visa may have 16,384 bytes, a passport 262,144',
  'alg-not-allowed': 'the signature algorithm is not the one of the key, or neither RS256 nor ES256',
  'crit-unsupported': 'the token asks for an extension that is not understood',
  'wrong-typ': 'the token is of another type',
  'unsupported-visa-format': 'only visas in document form are taken',
  'untrusted-issuer': 'the issuer is not trusted for this kind of token',
  'untrusted-jku': 'the token names another key set than the one its issuer is known by',
  'wrong-audience': 'the token is for others',
  'unknown-kid': 'the issuer has no key of this id',
  'bad-signature': 'the signature does not verify',
  'missing-claim': 'a required claim is missing',
  'malformed-claim': 'a claim has the wrong form',
  'claim-too-long': 'a claim is longer than allowed',
  expired: 'the token has expired',
  'lifetime-too-long': 'the token lives longer than its issuer may let it',
  'not-yet-valid': 'the token is not valid yet',
  'issued-in-future': 'the token was issued in the future',
  'asserted-in-future': 'the visa was asserted in the future',
  'untrusted-source': 'who made the assertion is not trusted with this issuer',
  'conditions-not-met': 'the visa has conditions that are not met or not evaluated',
  'wrong-visa-type': 'the visa is not a ControlledAccessGrants visa',
  'value-mismatch': 'the visa is for another dataset',
  'no-matching-visa': 'no visa of the passport grants the dataset',
  denied: 'the operator of the service has denied this token or its subject',
  'missing-scope': 'the access token lacks a scope of passports',
} as const;

/**
 * The token is refused: the caller must present another one. The message says which rule failed and holds nothing of
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
