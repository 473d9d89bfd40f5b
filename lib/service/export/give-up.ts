import * as z from 'zod';
import { parseJson } from '../../common/untrusted-json.ts';
import { deliveryMessage, fileExportMessage } from '../../contract/messages.ts';
import type { failureReasons } from '../../contract/reasons.ts';
import type { DeliveriesQueue } from '../stores/queues.ts';
import { count } from '../stores/rds/columns.ts';
import type { SqlExecutor, SqlParameters } from '../stores/rds/data-api.ts';
import { reject } from './accept.ts';
import { identityOf, parseExportRequest, type ReceivedMessage } from './received.ts';
import { audit, findRequest, isOpen, isUnsettled, sendToSettle } from './requests.ts';

/** Files that one statement gives up at most: so few that PostgreSQL looks each of them up. */
const filesAtOnce = 1000;

const givenUpRow = z.object({ request_id: z.string(), reason: z.string(), files: count });

/** How many files of a request were given up, by the reason: the code of their last error. */
export type GivenUp = z.infer<typeof givenUpRow>;

/**
 * Give up open files `f` of requests `r`, with their audit rows. A row whose attempts recorded an error keeps it as the reason.
 *
 * @param which condition on them
 * @param otherwise the reason of files without one
 * @returns an empty list when no file is left
 */
async function giveUp(
  db: SqlExecutor,
  which: string,
  otherwise: keyof typeof failureReasons,
  parameters: SqlParameters,
): Promise<readonly GivenUp[]> {
  return await db.query(
    givenUpRow,
    `with lost as materialized (
       select f.request_id, f.file_id
       from data_out.requests r join data_out.request_files f on f.request_id = r.request_id and ${isOpen('f')}
       where ${which}
       limit ${filesAtOnce} for update of f
     ), given_up as (
       update data_out.request_files f
       set state = 'given_up', reason = coalesce(f.reason, :otherwise), upload_id = null, upload_for = null, changed_at = now()
       from lost l where f.request_id = l.request_id and f.file_id = l.file_id
       returning f.request_id, f.file_id, f.reason
     ), audited as (
       ${audit(`select g.request_id, 'given_up', g.reason, r.archive_kind, r.dataset_id, g.file_id, r.recipient, r.key_fingerprint,
         cast(null as bigint), cast(null as text)
       from given_up g join data_out.requests r on r.request_id = g.request_id`)}
     )
     select cast(g.request_id as text) as request_id, g.reason, count(*) as files from given_up g group by 1, 2`,
    { ...parameters, otherwise },
  );
}

const ofRequest = 'r.request_id = cast(:request_id as uuid)';

/** Give up some files of which nothing has changed since `before`: no queue keeps a message that long. */
export const giveUpExpired = (db: SqlExecutor, before: Date) =>
  giveUp(
    db,
    `${isUnsettled} and r.requested_at < cast(:before as timestamptz) and f.changed_at < cast(:before as timestamptz)`,
    'expired',
    { before: before.toISOString() },
  );

/**
 * Record in the rows what a message was for that failed for good, so that it can be deleted. Of a message of `Deliveries` nothing is lost,
 * because its request is not settled, and the sweep sends it again.
 *
 * @returns the files that were given up, and whether the request was rejected because no delivery of its message could decide on it
 * @throws Error for a message that cannot be read: it stays, and an alarm fires
 */
export async function recordDeadLetter(
  message: ReceivedMessage,
  dependencies: { readonly db: SqlExecutor; readonly deliveries: DeliveriesQueue },
) {
  const { db } = dependencies;
  const body = parseJson(message.body);
  const delivery = deliveryMessage.safeParse(body).data;
  if (delivery) return { ...delivery, isRejected: false, givenUp: [] as GivenUp[] };
  const file = fileExportMessage.safeParse(body).data;
  if (file) {
    const { requestId, fileId } = file;
    const parameters = { request_id: { uuid: requestId }, file_id: fileId };
    const givenUp = await giveUp(db, `${ofRequest} and f.file_id = :file_id`, 'no_answer', parameters);
    await sendToSettle([requestId], dependencies);
    return { requestId, isRejected: false, givenUp };
  }
  const { datasetId, fileId } = parseExportRequest(message);
  const identity = identityOf(message);
  const { requestId } = identity;
  await reject(db, { ...identity, datasetId, fileId }, 'failed');
  const givenUp: GivenUp[] = [];
  for (let some: readonly GivenUp[] | undefined; some?.length !== 0; givenUp.push(...some)) {
    some = await giveUp(db, `${ofRequest} and f.state = 'waiting'`, 'not_sent', { request_id: { uuid: requestId } });
  }
  await sendToSettle([requestId], dependencies);
  return { requestId, isRejected: (await findRequest(db, requestId))?.reason === 'failed', givenUp };
}
