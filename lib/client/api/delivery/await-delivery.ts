import { growingPause } from '../../../common/timing.ts';
import { isReceiptName } from '../../../contract/delivery.ts';
import { ClientError, interrupted, UnavailableError } from '../errors.ts';
import type { ListedFile, ProxyApi } from '../proxy.ts';
import { Claims } from './claims.ts';
import type { Receipt } from './combine.ts';
import { type ReadReceipts, requestOf } from './receipt-files.ts';

/** The delivery that is waited for: the newest one that the target folder does not have. */
export interface AwaitedDelivery {
  /** Default: of any dataset. */
  readonly dataset?: string | undefined;
  /** Whether the target folder has this receipt. Asked before it is fetched. */
  readonly has: (receipt: ListedFile) => Promise<boolean>;
  /** Whether the target folder has all wanted files of a receipt that it has. Otherwise that delivery is waited for again. */
  readonly isWhole: (receipt: Receipt) => Promise<boolean>;
}

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
async function delivered({ proxy, wanted, fetch, signal }: AwaitDeliveryOptions): Promise<Receipt | undefined> {
  const listed: ListedFile[] = [];
  for await (const file of proxy.list({ signal })) if (isReceiptName(file.name)) listed.push(file);
  const old = new Set<string>();
  for (const [requestId, parts] of Map.groupBy(listed, ({ name }) => requestOf(name))) {
    if (!(await Promise.all(parts.map(wanted.has))).includes(false)) old.add(requestId);
  }
  const { receipts, refused } = await fetch(listed);
  if (refused[0]) throw refused[0];
  const awaited: Receipt[] = [];
  for (const receipt of receipts) {
    const isOther = wanted.dataset !== undefined && receipt.dataset !== wanted.dataset;
    if (!isOther && !(old.has(receipt.jti) && (await wanted.isWhole(receipt)))) awaited.push(receipt);
  }
  // Of several, the newest request wins.
  return new Claims(awaited).receipts.at(-1);
}

function tooLate({ dataset }: AwaitedDelivery): ClientError {
  const what =
    dataset === undefined ? 'there is no new delivery receipt' : `there is no new delivery receipt of ${dataset}`;
  return new ClientError('timeout', `${what} yet`, {
    remedy: 'Run the same command again to keep waiting, or ask the administrator for the state of the request.',
  });
}
