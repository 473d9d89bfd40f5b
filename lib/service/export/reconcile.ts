import { openMarkerKey } from '../../contract/outbox-key.ts';
import type { Clock } from '../archive/ports.ts';
import { closeFanOut } from './finalizing.ts';
import type { Deliveries, FanOutProgress, RefusedRequest, RemovableOutbox, RequestFiles, Requests } from './ports.ts';

const minuteMs = 60_000;
/** Longest time that a function may run, and a margin: an invocation that began before is over. */
const longestTryMs = 20 * minuteMs;
/** SQS keeps no message longer. */
const longestWaitMs = 14 * 24 * 60 * minuteMs;
/** A request that changed since may be on its way to its receipt. */
const quietMs = 5 * minuteMs;
/** Time that a step takes at most. */
const stepMs = 30_000;

/** A fan-out whose message will not come again. */
export interface BrokenFanOut {
  readonly request: RefusedRequest;
  readonly progress: FanOutProgress;
  /** Why it failed, if that is recorded. */
  readonly reason?: string;
}

/**
 * What the reconciliation asks of the tables of requests and their files. Each answer is bounded, so a run may leave some
 * for the next. Every method may throw TemporarilyUnavailableError.
 */
export interface UnfinishedRequests {
  /** Give up files whose last attempt began before `triedBefore` and recorded no end. @returns how many */
  giveUpSilent(triedBefore: Date): Promise<number>;
  /** Give up open files of which nothing has changed since `before`. @returns how many */
  giveUpExpired(before: Date): Promise<number>;
  /**
   * Fan-outs that have not ended, and have failed, or began their last attempt before `triedBefore`, or have not changed since
   * `expiredBefore`. Those that have not changed for longest come first.
   */
  brokenFanOuts(triedBefore: Date, expiredBefore: Date): Promise<readonly BrokenFanOut[]>;
  /**
   * Requests to finalize that are not closed, have not changed since then and were not returned since then. The same one is
   * returned after twice the time, and so on, so that one that cannot be closed does not fill the dead letters.
   */
  unclosed(quietSince: Date): Promise<readonly string[]>;
}

export interface ReconcileDependencies {
  readonly unfinished: UnfinishedRequests;
  readonly requests: Requests;
  readonly requestFiles: Pick<RequestFiles, 'finalizable'>;
  readonly deliveries: Deliveries;
  readonly now: Clock;
}

/** What a run has done. */
export interface Reconciled {
  /** Files that were given up. */
  readonly givenUp: number;
  /** Those of them whose message is gone. The others got no answer from their last attempt. */
  readonly expired: number;
  /** Fan-outs that were given up. */
  readonly failed: number;
  /** Requests that were sent on again. */
  readonly sentAgain: number;
}

/**
 * End what invocations that died left open. Send requests on again that are not closed. What is left after the
 * given time waits for the next run.
 *
 * @param remainingMs milliseconds until the invocation ends
 */
export async function reconcileDeliveries(
  dependencies: ReconcileDependencies,
  remainingMs: () => number,
): Promise<Reconciled> {
  const { unfinished, requests, deliveries, now } = dependencies;
  const ago = (milliseconds: number) => new Date(now().getTime() - milliseconds);
  const hasTime = () => remainingMs() > stepMs;
  const all = async (step: () => Promise<number>) => {
    let sum = 0;
    for (let done = 1; done > 0 && hasTime(); sum += done) done = await step();
    return sum;
  };
  const sentAgain = await all(async () => {
    const again = await unfinished.unclosed(ago(quietMs));
    if (again.length > 0) await deliveries.send(again);
    return again.length;
  });
  const silent = await all(() => unfinished.giveUpSilent(ago(longestTryMs)));
  const expired = await all(() => unfinished.giveUpExpired(ago(longestWaitMs)));
  let failed = 0;
  const stuck = new Map<string, unknown>();
  // A page of each in turn: a large one does not keep the others waiting.
  await all(async () => {
    const broken = await unfinished.brokenFanOuts(ago(longestTryMs), ago(longestWaitMs));
    const open = broken.filter(({ request }) => !stuck.has(request.exportId));
    for (const { request, progress, reason } of open) {
      if (!hasTime()) break;
      try {
        await requests.fail(request, reason ?? 'no_answer');
        const unsent = { state: 'given_up', reason: 'not_sent' } as const;
        if (await closeFanOut(request.exportId, progress, unsent, dependencies, () => false)) failed += 1;
      } catch (error) {
        // One that cannot be closed does not keep the others waiting.
        stuck.set(request.exportId, error);
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

interface ReconcileWhileOpenDependencies {
  readonly outbox: Pick<RemovableOutbox, 'head' | 'remove' | 'markOpen'>;
  /** Whether a request waits for its receipt. */
  readonly hasUnfinalized: () => Promise<boolean>;
  readonly now: Clock;
}

/**
 * Reconcile while something may be open, as the marker in the outbox says. The database is not asked otherwise.
 *
 * @param isNet also reconcile without the marker
 */
export async function reconcileWhileOpen(
  { outbox, hasUnfinalized, now }: ReconcileWhileOpenDependencies,
  isNet: boolean,
  reconcile: () => Promise<void>,
): Promise<void> {
  // The net does not ask S3 first, because it also serves the day on which the marker cannot be read.
  if (!isNet && !(await outbox.head(openMarkerKey))) return;
  await reconcile();
  const marker = await outbox.head(openMarkerKey);
  const ageMs = marker ? now().getTime() - marker.lastModified.getTime() : Number.POSITIVE_INFINITY;
  if (await hasUnfinalized()) {
    if (ageMs > refreshMs) await outbox.markOpen();
  } else if (marker && ageMs > longestOpeningMs) {
    // A request that was opened meanwhile has replaced the marker, which then stays.
    await outbox.remove(openMarkerKey, marker.etag);
  }
}
