export { judgeUserInfo, verifyAccessToken } from './broker.ts';
export { VisaError, type VisaErrorCode } from './errors.ts';
export { type DatasetGrant, denialReason, type VerifiedGrants } from './grants.ts';
export { type VisaRules, visaRules } from './rules.ts';
export type { VerifyOptions } from './token.ts';
export { parseTrustedIssuers, smokeIssuerFault, type TrustedIssuers, TrustedIssuersError } from './trusted-issuers.ts';
export { verifyPassport, verifyVisa, verifyVisaOrPassport } from './verify.ts';
