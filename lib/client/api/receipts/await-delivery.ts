import { growingPause } from '../../../common/timing.ts';
import { isReceiptName } from '../../../contract/delivery.ts';
import type { DeliveryApi, ListedFile } from '../delivery-api.ts';
import { ClientError, interrupted, UnavailableError } from '../errors.ts';
import { Claims } from './claims.ts';
import { type ReadReceipts, type Receipt, requestOf } from './receipt-files.ts';

export interface AwaitDeliveryOptions {
  readonly proxy: DeliveryApi;
  /** The dataset to wait for; default: any. */
  readonly dataset: string | undefined;
  /** Whether the target folder has this receipt, and its files have come. */
  readonly has: (receipt: ListedFile) => Promise<boolean>;
  readonly timeoutMs: number;
  /** Downloads receipts and verifies them. */
  readonly fetch: (files: readonly ListedFile[]) => Promise<ReadReceipts>;
  /** Called when the network or the service fails; the waiting continues. */
  readonly retrying: (error: ClientError) => void;
  readonly signal: AbortSignal | undefined;
}

/** Pauses between two listings. */
const pauses = { firstMs: 5_000, longestMs: 300_000, factor: 1.5 } as const;

/**
 * Waits until a delivery is settled that the target folder does not have. The outbox then has its receipt.
 * @returns the receipt, verified
 * @throws ClientError `timeout`; `not_verified` for a receipt that must not be relied on; as `DeliveryApi.list`
 */
export async function awaitDelivery(options: AwaitDeliveryOptions): Promise<Receipt> {
  const { proxy, dataset, has, timeoutMs, fetch, signal } = options;
  const { timing } = proxy.connection.transport;
  const end = timing.now().getTime() + timeoutMs;
  let read = '';
  /** The delivery, if the outbox has its receipt. */
  const delivered = async (): Promise<Receipt | undefined> => {
    const listed = (await Array.fromAsync(proxy.list({ signal }))).filter(({ name }) => isReceiptName(name));
    const fresh: ListedFile[] = [];
    for (const parts of Map.groupBy(listed, ({ name }) => requestOf(name)).values()) {
      if ((await Promise.all(parts.map(has))).includes(false)) fresh.push(...parts);
    }
    // Receipts that did not match are read again only when the listing has changed.
    if (JSON.stringify(fresh) === read) return undefined;
    const { receipts, refused } = await fetch(fresh);
    if (refused[0]) throw refused[0];
    read = JSON.stringify(fresh);
    // Of several, the newest request wins.
    return new Claims(receipts.filter((each) => dataset === undefined || each.dataset === dataset)).receipts.at(-1);
  };
  for (let asked = 0; ; asked += 1) {
    try {
      const receipt = await delivered();
      if (receipt !== undefined) return receipt;
    } catch (error) {
      if (!(error instanceof UnavailableError) || !error.retryable) throw error;
      options.retrying(error);
    }
    const left = end - timing.now().getTime();
    if (left <= 0) {
      const of = dataset === undefined ? '' : ` of ${dataset}`;
      throw new ClientError('timeout', `there is no new delivery receipt${of} yet`, {
        remedy: 'Run the same command again to keep waiting, or ask the administrator for the state of the request.',
      });
    }
    await timing.sleep(Math.min(growingPause(asked, pauses), left), signal).catch((cause: unknown) => {
      throw interrupted(cause);
    });
  }
}
