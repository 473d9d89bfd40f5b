import { VisaError } from './errors.ts';

/** A JSON object whose members are still unchecked. */
export type Claims = Readonly<Record<string, unknown>>;

/** Seconds by which the clocks of issuer and service may differ. */
const clockSkewSeconds = 60;

const lastSecond = 8.64e12;

/** A required, non-empty string. Lone surrogates are refused: UTF-8 makes them all the same bytes. */
export function text(claims: Claims, name: string): string {
  const value = present(claims, name);
  if (typeof value !== 'string' || value === '' || !value.isWellFormed()) throw new VisaError('malformed_claim');
  return value;
}

/** A required NumericDate: seconds since 1970, fractions allowed (RFC 7519 § 2). */
export function numericDate(claims: Claims, name: string): number {
  const value = present(claims, name);
  if (typeof value !== 'number' || !(value >= 0 && value <= lastSecond)) throw new VisaError('malformed_claim');
  return value;
}

export function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function present(claims: Claims, name: string): unknown {
  if (!(name in claims)) throw new VisaError('missing_claim');
  return claims[name];
}

/**
 * The registered claims of every token (Passport 1.2, Visa Format; RFC 7519 § 4.1): `iss`, `sub`, `iat` and `exp` are
 * present. `exp` is in the future, `iat` and `nbf` are not, all with the leeway. The time from `iat` to `exp` is at
 * most the allowed lifetime.
 *
 * @returns `sub`, and `exp` as a date
 */
export function checkRegisteredClaims(
  claims: Claims,
  { now, maxLifetimeSeconds }: { readonly now: Date; readonly maxLifetimeSeconds: number },
): { readonly sub: string; readonly expiresAt: Date } {
  const sub = text(claims, 'sub');
  const issued = numericDate(claims, 'iat');
  const expires = numericDate(claims, 'exp');
  const seconds = now.getTime() / 1000;
  // Written so that an invalid clock (NaN) refuses the token, here and below.
  if (!(seconds < expires + clockSkewSeconds)) throw new VisaError('expired');
  if ('nbf' in claims && isAhead(numericDate(claims, 'nbf'), now)) throw new VisaError('not_yet_valid');
  if (isAhead(issued, now)) throw new VisaError('issued_in_future');
  if (expires - issued > maxLifetimeSeconds) throw new VisaError('lifetime_too_long');
  return { sub, expiresAt: new Date(expires * 1000) };
}

/** Whether a time is in the future, even for a clock that is ahead of ours by the leeway. */
export function isAhead(seconds: number, now: Date): boolean {
  return !(seconds <= now.getTime() / 1000 + clockSkewSeconds);
}
