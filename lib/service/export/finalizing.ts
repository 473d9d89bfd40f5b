import { type ErrorCode, isError } from '../../errors.ts';
import type { FanOutProgress, FanOuts, FinalizableRequests, GiveUpReason, Unsent } from './ledger-port.ts';
import type { Deliveries } from './ports.ts';

/** Receives in a row that bring a fan-out no further, after which it is given up. */
export const mostWithoutProgress = 5;

/** Send on those of the requests whose files have all ended. A request may be sent twice. */
export async function sendFinalizable(
  requestIds: readonly string[],
  { ledger, deliveries }: { readonly ledger: FinalizableRequests; readonly deliveries: Deliveries },
): Promise<void> {
  if (requestIds.length === 0) return;
  const finalizable = await ledger.finalizable(requestIds);
  if (finalizable.length > 0) await deliveries.send(finalizable);
}

/**
 * End a fan-out before its end: no file behind `sentTo` will be sent. Its position is saved, so that it can be repeated.
 *
 * @param mayGoOn asked after each page
 * @returns `false` when it stopped there
 */
export async function closeFanOut(
  requestId: string,
  progress: FanOutProgress,
  unsent: Unsent,
  dependencies: { readonly ledger: FanOuts; readonly deliveries: Deliveries },
  mayGoOn: () => boolean,
): Promise<boolean> {
  const { ledger } = dependencies;
  while (await ledger.closeUnsent(requestId, progress, unsent)) if (!mayGoOn()) return false;
  if (await ledger.completeFanOut(requestId, progress)) await sendFinalizable([requestId], dependencies);
  return true;
}

/** The reason of a failure, as a code: what the error is, and nothing of its text. */
export function failureCode(error: unknown): ErrorCode | GiveUpReason {
  return isError(error) ? error.code : 'internal_error';
}

/**
 * Seconds from a request until now, to the millisecond. A clock that is behind the proxy's counts as 0.
 *
 * @param requestedAt ISO 8601
 */
export function secondsSince(requestedAt: string, now: Date): number {
  return Math.max(0, now.getTime() - Date.parse(requestedAt)) / 1000;
}
