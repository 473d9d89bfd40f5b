import { limits } from '../contract/limits.ts';
import { visasMeeting } from './conditions.ts';
import { VisaError } from './errors.ts';
import type { IgnoredVisa } from './grants.ts';
import { parseToken, type VerifyOptions } from './token.ts';
import type { TrustedIssuers } from './trusted-issuers.ts';
import { type ValidVisa, verifyVisaToken } from './visa.ts';

/** The visas of a passport, each judged on its own. */
export interface JudgedVisas {
  /** In force, their conditions met. */
  readonly visas: readonly ValidVisa[];
  readonly ignored: readonly IgnoredVisa[];
}

/**
 * Judge the visas of `ga4gh_passport_v1`. A visa that fails is left out; the others count (Passport 1.2, General
 * Requirements 8.2).
 *
 * @throws VisaError when it is not a list, or a list of more than 200
 */
export async function judgeVisas(tokens: unknown, options: VerifyOptions): Promise<JudgedVisas> {
  if (!Array.isArray(tokens)) throw new VisaError('malformed_claim');
  if (tokens.length > limits.visasPerPassport) throw new VisaError('claim_too_long');
  const valid = new Map<number, ValidVisa>();
  const ignored: IgnoredVisa[] = [];
  for (const [position, token] of tokens.entries()) {
    const result = await judgeVisa(token, options);
    if (result instanceof VisaError) ignored.push({ position, reason: result.code });
    else valid.set(position, result);
  }
  const visas: ValidVisa[] = [];
  for (const [position, visa] of valid) {
    const met = settle(visa, [...valid.values()], options.issuers);
    if (met) visas.push(met);
    else ignored.push({ position, reason: 'conditions_not_met', ...(visa.datasetId && { datasetId: visa.datasetId }) });
  }
  return { visas, ignored };
}

async function judgeVisa(token: unknown, options: VerifyOptions): Promise<ValidVisa | VisaError> {
  if (typeof token !== 'string') return new VisaError('malformed_token');
  try {
    return await verifyVisaToken(parseToken(token), options);
  } catch (error) {
    if (error instanceof VisaError) return error;
    throw error;
  }
}

/**
 * The visa when its conditions are met: it then also depends on the visas that meet them. `undefined` when they are not
 * met.
 */
function settle(visa: ValidVisa, all: readonly ValidVisa[], { conditions }: TrustedIssuers): ValidVisa | undefined {
  if (!visa.conditions) return visa;
  const meeting = conditions === 'evaluate' ? visasMeeting(visa, all) : undefined;
  if (!meeting) return undefined;
  const needed = [visa, ...meeting];
  const expiries = needed.map(({ expiresAt }) => expiresAt.getTime());
  return {
    ...visa,
    expiresAt: new Date(Math.min(...expiries)),
    restsOn: [...new Set(needed.flatMap(({ restsOn }) => restsOn))],
  };
}
