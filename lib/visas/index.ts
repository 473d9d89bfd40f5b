export { VisaError, type VisaErrorCode } from './errors.ts';
export { type DatasetGrant, denialReason, type VerifiedGrants } from './grants.ts';
export type { VerifyOptions } from './token.ts';
export {
  leftOutKeys,
  parseTrustedIssuers,
  smokeIssuerFault,
  type TrustedIssuers,
  TrustedIssuersError,
} from './trusted-issuers.ts';
export { type VisaRules, verifyVisaOrPassport, visaRules } from './verify.ts';
