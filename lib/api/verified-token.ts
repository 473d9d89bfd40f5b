import { UnauthenticatedError } from '../errors.ts';
import { type VerifiedGrants, VisaError, type VisaRules } from '../visas/index.ts';

/**
 * What a caller's token says at this moment. Every request verifies its token: nothing is remembered between them.
 *
 * @param token a visa or a passport
 * @throws UnauthenticatedError when the token is refused; TemporarilyUnavailableError
 */
export async function verifiedToken(token: string, rules: Pick<VisaRules, 'verify'>): Promise<VerifiedGrants> {
  try {
    return await rules.verify(token);
  } catch (error) {
    if (!(error instanceof VisaError)) throw error;
    throw new UnauthenticatedError(`the visa was refused (${error.code}): ${error.message}`);
  }
}
