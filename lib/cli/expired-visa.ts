import { formatDuration } from '../terminal/output.ts';
import { type DecodedToken, decodeVisaOrPassport, expiryOf } from './decoded-visa.ts';

/**
 * The warning for a visa or passport that has expired by this machine's clock. It may still be valid: only the
 * service's clock counts. `undefined` for a token that has not expired, or has no time of expiry.
 */
export function expiryWarning(token: DecodedToken, now: Date): string | undefined {
  const expires = expiryOf(token);
  if (expires === undefined || expires > now) return undefined;
  const ago = formatDuration(now.getTime() - expires.getTime());
  return (
    `the ${token.kind} expired at ${expires.toISOString()}, ${ago} ago by this clock. ` +
    'It is sent all the same, because clocks differ; get a new one if the service refuses it.'
  );
}

/** Reads the token by `read`, and calls `warn` once for each expired token. */
export function warningOfExpiry(
  read: () => Promise<string>,
  warn: (text: string) => void,
  now: () => Date,
): () => Promise<string> {
  let told: string | undefined;
  return async () => {
    const token = await read();
    const decoded = token === told ? undefined : decodeVisaOrPassport(token);
    const warning = decoded && expiryWarning(decoded, now());
    if (warning !== undefined) {
      told = token;
      warn(warning);
    }
    return token;
  };
}
