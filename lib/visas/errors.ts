import { visaErrors } from '../contract/reasons.ts';

/** Why a visa or passport does not give access. Stable words, for logs, metrics and audit rows. */
export type VisaErrorCode = keyof typeof visaErrors;

/**
 * The token is refused: the caller must present another one. The message says which rule failed and holds no part of
 * the token.
 */
export class VisaError extends Error {
  override readonly name: string = 'VisaError';
  readonly code: VisaErrorCode;
  constructor(code: VisaErrorCode) {
    super(visaErrors[code]);
    this.code = code;
  }
}
