import * as z from 'zod';
import type { Clock } from '../archive/ports.ts';
import type { DeliveriesQueue } from '../stores/queues.ts';
import { count, nilUuid } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { type GivenUp, giveUpExpired } from './give-up.ts';
import { hasOpenFiles, isOpen, isUnsettled, requestIds, sendToSettle } from './requests.ts';
import { type SendDependencies, sendWaiting } from './send.ts';

const hourMs = 3_600_000;
/** SQS keeps no message longer. */
const longestMessageMs = 14 * 24 * hourMs;
const stepMs = 30_000;
/** Requests that one statement finds. */
const requestsAtOnce = 500;
/** What one statement deletes at most, besides 5,000 files of the requests. */
const mostDeleted = { requests: 100, events: 5000 };

export interface SweepDependencies extends SendDependencies {
  readonly deliveries: DeliveriesQueue;
  readonly now: Clock;
}

/**
 * End what no message will end: files whose messages are gone, files that were never sent, requests that nothing settles, and rows whose
 * time is over. Each step runs whatever became of the others. What is left when the time is over waits for the next run.
 *
 * @param failed gets the failure of a step
 * @returns the files that were given up, and how many files were sent, requests were sent to be settled (`overdue`: since more than an hour),
 * and rows were deleted
 */
export async function sweep(
  dependencies: SweepDependencies,
  remainingMs: () => number,
  failed: (error: unknown) => void,
) {
  const { db, now } = dependencies;
  const ago = (milliseconds: number) => new Date(now().getTime() - milliseconds);
  const hasTime = () => remainingMs() > stepMs;
  /** Run a step until it finds nothing more. */
  const all = async (step: () => Promise<number>) => {
    let sum = 0;
    try {
      for (let done = 1; done > 0 && hasTime(); sum += done) done = await step();
    } catch (error) {
      if (hasTime()) failed(error);
    }
    return sum;
  };
  const givenUp: GivenUp[] = [];
  await all(async () => {
    const some = await giveUpExpired(db, ago(longestMessageMs));
    givenUp.push(...some);
    return some.length;
  });
  let after = nilUuid;
  let overdue = 0;
  const settling = await all(async () => {
    const found = await unsettled(db, ago(hourMs), after);
    after = found.at(-1)?.request_id ?? after;
    overdue += found.filter((request) => request.is_overdue).length;
    const ids = found.map((request) => request.request_id);
    await sendToSettle(ids, dependencies);
    return found.length;
  });
  const deleted = await all(async () => {
    const [row] = await db.query(
      z.object({ deleted: count }),
      'select data_out.delete_expired(cast(:requests as integer), cast(:events as integer)) as deleted',
      mostDeleted,
    );
    return row?.deleted ?? 0;
  });
  // The last, because it may take all the time that is left.
  let sent = 0;
  await all(async () => {
    for (const id of await withWaitingFiles(db, ago(hourMs))) {
      sent += await all(() => sendWaiting(id, dependencies, hasTime));
    }
    return 0;
  });
  return { givenUp, sent, settling, overdue, deleted };
}

/** Requests with files that wait since before this time, because the function that was to send them has died. */
const withWaitingFiles = (db: SqlExecutor, before: Date) =>
  requestIds(
    db,
    // `offset 0` keeps it from becoming a join, which would read all files that wait.
    `select cast(r.request_id as text) as request_id from data_out.requests r
     where ${isUnsettled} and exists (
       select from data_out.request_files f where f.request_id = r.request_id and ${isOpen('f')} and f.state = 'waiting'
         and f.changed_at < cast(:before as timestamptz) offset 0)
     limit ${requestsAtOnce}`,
    { before: before.toISOString() },
  );

/** The next requests without an open file that are not settled, by their ids. One since after `before` may be about to be. */
const unsettled = (db: SqlExecutor, before: Date, after: string) =>
  db.query(
    z.object({ request_id: z.string(), is_overdue: z.boolean() }),
    `select cast(r.request_id as text) as request_id, r.requested_at < cast(:before as timestamptz) as is_overdue
     from data_out.requests r
     where ${isUnsettled} and r.request_id > cast(:after as uuid) and r.recipient is not null
       and not ${hasOpenFiles('r.request_id')}
     order by r.request_id limit ${requestsAtOnce}`,
    { before: before.toISOString(), after: { uuid: after } },
  );
