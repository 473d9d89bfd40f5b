import { limits } from '../contract/limits.ts';
import { isObject } from './claims.ts';
import { VisaError } from './errors.ts';
import { type IgnoredVisa, isSame } from './grants.ts';
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
    const met = withConditionsMet(visa, [...valid.values()], options.issuers);
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
function withConditionsMet(
  visa: ValidVisa,
  all: readonly ValidVisa[],
  { conditions }: TrustedIssuers,
): ValidVisa | undefined {
  if (!visa.conditions) return visa;
  const meeting = conditions === 'evaluate' ? visasMeeting(visa, all) : undefined;
  if (!meeting) return undefined;
  const needed = [visa, ...meeting];
  const expiries = needed.map(({ expiresAt }) => expiresAt.getTime());
  return {
    ...visa,
    expiresAt: new Date(Math.min(...expiries)),
    dependsOn: [...new Set(needed.flatMap(({ dependsOn }) => dependsOn))],
  };
}

/** Claims that a clause may ask for besides `type`; never conditions or times (Passport 1.2, conditions). */
const matchable = ['value', 'source', 'by'] as const;
type Matchable = (typeof matchable)[number];

/**
 * Evaluate the conditions of a visa (Passport 1.2, conditions): a list of alternatives, each a list of clauses that
 * must all match. A clause matches if all its claims match one and the same visa, which is of the same identity and has
 * no conditions itself. A clause that is not understood is not met.
 *
 * @param others visas in force of the same passport
 * @returns the visas that meet the first alternative that is met; `undefined` when none is
 */
export function visasMeeting(visa: ValidVisa, others: readonly ValidVisa[]): readonly ValidVisa[] | undefined {
  const candidates = others.filter(
    ({ conditions, subject }) => conditions === undefined && isSame(subject, visa.subject),
  );
  for (const alternative of visa.conditions ?? []) {
    if (!Array.isArray(alternative) || alternative.length === 0) continue;
    const found = alternative.map((clause: unknown) => candidates.find((candidate) => matches(clause, candidate)));
    if (found.every((match) => match !== undefined)) return found;
  }
  return undefined;
}

function matches(clause: unknown, visa: ValidVisa): boolean {
  if (!isObject(clause)) return false;
  const { type, ...claims } = clause;
  const entries = Object.entries(claims);
  if (type !== visa.type || entries.length === 0) return false;
  return entries.every(([name, pattern]) => isMatchable(name) && matchesClaim(pattern, visa[name]));
}

function isMatchable(name: string): name is Matchable {
  return (matchable as readonly string[]).includes(name);
}

/** `const:`, `pattern:` or `split_pattern:` before what is compared; any other match type fails. */
function matchesClaim(pattern: unknown, claim: string | undefined): boolean {
  if (typeof pattern !== 'string' || claim === undefined) return false;
  const colon = pattern.indexOf(':');
  const wanted = pattern.slice(colon + 1);
  switch (pattern.slice(0, Math.max(colon, 0))) {
    case 'const':
      return claim === wanted;
    case 'pattern':
      return matchesPattern([...wanted], [...claim]);
    case 'split_pattern':
      return claim.split(';').some((part) => matchesPattern([...wanted], [...part]));
    default:
      return false;
  }
}

/**
 * Whole string, case-sensitive; `?` is one character, `*` any number of them (Passport 1.2, Pattern Matching). On a
 * mismatch only the last `*` takes one character more, so the time is bounded by the product of the lengths, which a
 * regular expression with many `.*` does not promise.
 */
function matchesPattern(pattern: readonly string[], text: readonly string[]): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let index = 0; index < text.length; ) {
    const symbol = pattern[at];
    if (symbol === '*') {
      star = at++;
      resume = index;
    } else if (symbol === '?' || symbol === text[index]) {
      at++;
      index++;
    } else if (star >= 0) {
      at = star + 1;
      index = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}
