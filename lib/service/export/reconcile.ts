import { openMarkerKey } from '../../contract/outbox-key.ts';
import type { Clock } from '../archive/ports.ts';
import { closeFanOut } from './finalizing.ts';
import type { FanOuts, UnfinishedRequests } from './ledger-port.ts';
import type { Deliveries, RemovableOutbox } from './ports.ts';

const minuteMs = 60_000;
/** Longest time that a function may run, and a margin: an invocation that began before is over. */
const longestTryMs = 20 * minuteMs;
/** SQS keeps no message longer. */
const longestWaitMs = 14 * 24 * 60 * minuteMs;
/** A request that changed since may be on its way to its receipt. */
const quietMs = 5 * minuteMs;
const stepMs = 30_000;

export interface ReconcileDependencies {
  readonly ledger: FanOuts & UnfinishedRequests;
  readonly deliveries: Deliveries;
  readonly now: Clock;
}

export interface Reconciled {
  readonly givenUp: number;
  /** Those of them whose message is gone. The others got no answer from their last attempt. */
  readonly expired: number;
  readonly failed: number;
  readonly sentAgain: number;
}

/**
 * End what invocations that died left open. Send requests on again that are not closed. What is left after the
 * given time waits for the next run.
 */
export async function reconcileDeliveries(
  dependencies: ReconcileDependencies,
  remainingMs: () => number,
): Promise<Reconciled> {
  const { ledger, deliveries, now } = dependencies;
  const ago = (milliseconds: number) => new Date(now().getTime() - milliseconds);
  const hasTime = () => remainingMs() > stepMs;
  const all = async (step: () => Promise<number>) => {
    let sum = 0;
    for (let done = 1; done > 0 && hasTime(); sum += done) done = await step();
    return sum;
  };
  const sentAgain = await all(async () => {
    const again = await ledger.unclosed(ago(quietMs));
    if (again.length > 0) await deliveries.send(again);
    return again.length;
  });
  const silent = await all(() => ledger.giveUpSilent(ago(longestTryMs)));
  const expired = await all(() => ledger.giveUpExpired(ago(longestWaitMs)));
  let failed = 0;
  const stuck = new Map<string, unknown>();
  // A page of each in turn: a large one does not keep the others waiting.
  await all(async () => {
    const broken = await ledger.brokenFanOuts(ago(longestTryMs), ago(longestWaitMs));
    const open = broken.filter(({ request }) => !stuck.has(request.requestId));
    for (const { request, progress, reason } of open) {
      if (!hasTime()) break;
      try {
        await ledger.fail(request, reason ?? 'no_answer');
        const unsent = { state: 'given_up', reason: 'not_sent' } as const;
        if (await closeFanOut(request.requestId, progress, unsent, dependencies, () => false)) failed += 1;
      } catch (error) {
        // One that cannot be closed does not keep the others waiting.
        stuck.set(request.requestId, error);
      }
    }
    return open.length;
  });
  for (const error of stuck.values()) throw error;
  return { givenUp: silent + expired, expired, failed, sentAgain };
}

/** An invocation that wrote the marker has recorded its request, or ended without it. */
const longestOpeningMs = 20 * 60_000;
/** The bucket forgets objects after a day at the earliest. */
const refreshMs = 12 * 3_600_000;

/**
 * Reconcile while something may be open, as the marker in the outbox says. The database is not asked otherwise.
 *
 * @param isNet also reconcile without the marker
 */
export async function reconcileWhileOpen(
  {
    outbox,
    ledger,
    now,
  }: {
    readonly outbox: Pick<RemovableOutbox, 'head' | 'remove' | 'markOpen'>;
    readonly ledger: Pick<UnfinishedRequests, 'hasUnfinalized'>;
    readonly now: Clock;
  },
  isNet: boolean,
  reconcile: () => Promise<void>,
): Promise<void> {
  // The net does not ask S3 first, because it also serves the day on which the marker cannot be read.
  if (!isNet && !(await outbox.head(openMarkerKey))) return;
  await reconcile();
  const marker = await outbox.head(openMarkerKey);
  const ageMs = marker ? now().getTime() - marker.lastModified.getTime() : Number.POSITIVE_INFINITY;
  if (await ledger.hasUnfinalized()) {
    if (ageMs > refreshMs) await outbox.markOpen();
  } else if (marker && ageMs > longestOpeningMs) {
    // A request that was opened meanwhile has replaced the marker, which then stays.
    await outbox.remove(openMarkerKey, marker.etag);
  }
}
