import { formatDuration } from '../../../terminal/output.ts';
import { datasetsOf, decodeVisaOrPassport, expiryOf } from '../../api/order/decoded-visa.ts';
import type { CheckResult } from './check.ts';

/** A visa that ends sooner may end within the first requests of a download. */
const soonMs = 300_000;
/** The most datasets that the line for people names. */
const shown = 5;

/**
 * Checks the claims of a visa or passport, without verifying them: only the service knows which issuers it trusts.
 * @param now by the service's clock if it is known, else by this machine's
 */
export function checkVisa(token: string, now: Date): CheckResult {
  const decoded = decodeVisaOrPassport(token);
  const renew = 'Get a new one where you got this one, and save it under the same name.';
  const wrong = { check: 'visa', verdict: 'failed', code: 'unauthenticated', remedy: renew } as const;
  if (decoded === undefined) return { ...wrong, text: 'the token is neither a GA4GH visa nor a passport' };
  const { kind, issuer, visas, unreadable, notBefore } = decoded;
  const expires = expiryOf(decoded);
  const datasets = datasetsOf(decoded);
  const subject = visas[0]?.subject;
  const details = { kind, issuer, subject, expires: expires?.toISOString(), datasets, verified: false };
  const about = `${kind} of ${issuer} for ${subject ?? 'no subject'}`;
  const fail = (text: string, remedy = renew) => {
    return { ...wrong, details, remedy, text: `${about}: ${text} (decoded, not verified)` };
  };
  if (expires === undefined) return fail('it has no time of expiry');
  const left = expires.getTime() - now.getTime();
  if (left <= 0) return fail(`expired at ${expires.toISOString()}`);
  if (notBefore && notBefore > now) return fail(`not valid before ${notBefore.toISOString()}`, 'Wait until then.');
  if (datasets.length === 0) return fail('it grants no dataset', 'Ask the data access committee.');
  const more = datasets.length > shown ? ` and ${datasets.length - shown} more` : '';
  const odd = unreadable > 0 ? `; ${unreadable} tokens in it are not visas` : '';
  const grants = `grants ${datasets.slice(0, shown).join(', ')}${more}${odd}`;
  const until = `until ${expires.toISOString()} (${formatDuration(left)} left)`;
  const text = `${about}, ${until}, ${grants} (decoded, not verified)`;
  const remedy = left < soonMs ? 'It expires soon: get a new one before a long download.' : undefined;
  return { check: 'visa', verdict: remedy ? 'warning' : 'ok', text, remedy, details };
}
