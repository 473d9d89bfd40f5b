import { growingPause } from '../../../common/timing.ts';
import { isReceiptName } from '../../../contract/delivery.ts';
import { ClientError, interrupted, UnavailableError } from '../errors.ts';
import type { ListedFile, ProxyApi } from '../proxy.ts';
import { Claims, requestedAt } from './claims.ts';
import type { Receipt } from './combine.ts';
import { type ReadReceipts, requestOf } from './receipt-files.ts';

/** The delivery that is waited for: that of one request, or one of a dataset that was requested since a time. */
export type AwaitedDelivery =
  | {
      readonly requestId: string;
      /** The receipt must be signed since then: one that is older is of an earlier generation. Default: any will do. */
      readonly since?: Date | undefined;
    }
  | { readonly dataset: string; readonly since: Date };

export interface AwaitDeliveryOptions {
  readonly proxy: ProxyApi;
  readonly wanted: AwaitedDelivery;
  readonly timeoutMs: number;
  /** Downloads receipts and verifies them. */
  readonly fetch: (files: readonly ListedFile[]) => Promise<ReadReceipts>;
  /** Called when the network or the service fails; the waiting continues. */
  readonly retrying: (error: ClientError) => void;
  readonly signal: AbortSignal | undefined;
}

/** Pauses between two listings. */
const pauses = { firstMs: 5_000, longestMs: 300_000, factor: 1.5 } as const;
/** Clocks of the service and of storage differ by less. */
const clockSkewMs = 300_000;

/**
 * Waits until a delivery is settled, which its receipt in the outbox says.
 * @returns the receipt, verified
 * @throws ClientError `timeout`; `not_verified` for a receipt that must not be relied on; as `ProxyApi.list`
 */
export async function awaitDelivery(options: AwaitDeliveryOptions): Promise<Receipt> {
  const { proxy, timeoutMs, signal } = options;
  const { timing } = proxy.connection.transport;
  const end = timing.now().getTime() + timeoutMs;
  for (let asked = 0; ; asked += 1) {
    try {
      const receipt = await delivered(options);
      if (receipt !== undefined) return receipt;
    } catch (error) {
      if (!(error instanceof UnavailableError) || !error.retryable) throw error;
      options.retrying(error);
    }
    const left = end - timing.now().getTime();
    if (left <= 0) throw tooLate(options.wanted);
    await timing.sleep(Math.min(growingPause(asked, pauses), left), signal).catch((cause: unknown) => {
      throw interrupted(cause);
    });
  }
}

/** The delivery, if the outbox has its receipt. */
async function delivered(options: AwaitDeliveryOptions): Promise<Receipt | undefined> {
  const { proxy, wanted, fetch, signal } = options;
  const listed = await Array.fromAsync(proxy.list({ signal }));
  const { receipts, refused, foreign } = await fetch(listed.filter((file) => mayBe(wanted, file)));
  if (refused[0]) throw refused[0];
  // No other receipt of that request will come.
  if ('requestId' in wanted && foreign[0]) throw foreign[0];
  // Of several, the newest request wins.
  return new Claims(receipts.filter((receipt) => isWanted(wanted, receipt))).receipts.at(-1);
}

/** Whether a row of the listing can be the receipt. */
function mayBe(wanted: AwaitedDelivery, { name, modified }: ListedFile): boolean {
  if (!isReceiptName(name)) return false;
  if ('requestId' in wanted) return requestOf(name) === wanted.requestId;
  return modified === undefined || modified.getTime() >= wanted.since.getTime() - clockSkewMs;
}

function isWanted(wanted: AwaitedDelivery, receipt: Receipt): boolean {
  const since = wanted.since?.getTime() ?? Number.NEGATIVE_INFINITY;
  if ('requestId' in wanted) return receipt.jti === wanted.requestId && receipt.iat * 1000 >= since;
  return receipt.kind === 'dataset' && receipt.dataset === wanted.dataset && requestedAt(receipt) >= since;
}

function tooLate(wanted: AwaitedDelivery): ClientError {
  const what = 'requestId' in wanted ? `request ${wanted.requestId}` : `an export of ${wanted.dataset}`;
  return new ClientError('timeout', `there is no delivery receipt of ${what} yet`, {
    remedy: 'Run the same command again to keep waiting, or ask the administrator for the state of the request.',
  });
}
