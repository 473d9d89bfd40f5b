export { judgeUserInfo, verifyAccessToken } from './broker.ts';
export { VisaError, type VisaErrorCode } from './errors.ts';
export { type DatasetGrant, denialReason, type IgnoredVisa, type VerifiedGrants } from './grants.ts';
export { parseTrustedIssuers, type TrustedIssuers, TrustedIssuersError } from './trusted-issuers.ts';
export { type VerifyOptions, verifyPassport, verifyVisa, verifyVisaOrPassport } from './verify.ts';
