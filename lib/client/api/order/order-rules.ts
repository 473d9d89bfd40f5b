import { formatDuration } from '../../../common/text.ts';
import { type DecodedToken, datasetsOf, expiryOf } from './decoded-visa.ts';

/**
 * What an administrator can know of an order before it is sent. The service answers before it looks at the visa, so the command
 * line and the administrators' page look first. This file and its imports also run in a browser.
 */

export type OrderType = 'datasetId' | 'fileId';

/**
 * Milliseconds. Clocks differ: a visa that expired this recently only causes a warning. An older one is refused here, because the
 * service would accept the request and reject it later.
 */
const clockSkewMs = 300_000;

/** Whether the service takes this identifier: 1 to 256 characters, not blank, no control characters. */
export function isIdentifier(id: string): boolean {
  return /^[^\p{Cc}]{1,256}$/u.test(id) && id.trim() !== '';
}

/** What an id names by its form: `EGAF` and digits are a file. The service would look for a dataset of that name in vain. */
export function typeOf(id: string): OrderType {
  return /^EGAF\d+$/i.test(id) ? 'fileId' : 'datasetId';
}

/** Whether the token expired so long ago that no difference of clocks explains it. */
export function isLongExpired(token: Pick<DecodedToken, 'expires' | 'visas'>, now: Date): boolean {
  const expires = expiryOf(token);
  return expires !== undefined && expires.getTime() + clockSkewMs < now.getTime();
}

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
    'It is sent anyway, because clocks differ; get a new one if the service refuses it.'
  );
}

/** Warnings: reasons for which the service will probably reject an order that can be sent. */
export function doubtsOf(
  { id, type }: { readonly id: string; readonly type: OrderType },
  token: DecodedToken,
  now: Date,
): readonly string[] {
  const granted = datasetsOf(token);
  const isNamed = granted.some((value) => namesDataset(value, id));
  const expired = expiryWarning(token, now);
  return [
    ...(expired === undefined ? [] : [expired]),
    ...(granted.length === 0 ? ['the visa grants no dataset'] : []),
    ...(granted.length > 0 && type === 'datasetId' && !isNamed
      ? [`the visa names ${granted.join(', ')}: this is right only if that is another name of ${id}`]
      : []),
  ];
}

/** Whether `value` of a visa names the dataset: by its id alone, or by an address or URN that ends with the id. */
export function namesDataset(value: string, datasetId: string): boolean {
  const text = value.replace(/\/$/, '');
  return text.endsWith(datasetId) && /(?:^|[/:#=?])$/.test(text.slice(0, text.length - datasetId.length));
}
