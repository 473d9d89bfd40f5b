import { decodeVisaOrPassport } from '../client/order/decoded-visa.ts';
import { expiryWarning } from '../client/order/order-rules.ts';

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
