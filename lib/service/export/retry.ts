import * as z from 'zod';
import type { DenyList } from '../../contract/deny-list.ts';
import { newestEvent } from '../catalogue/datasets.ts';
import type { DeliveriesQueue } from '../stores/queues.ts';
import { camelRow, count, optional } from '../stores/rds/columns.ts';
import type { DataApi } from '../stores/rds/data-api.ts';
import { fitsQuota, type OutboxQuota } from './quota.ts';
import type { RejectionReason } from './received.ts';
import { findRequest, hashes, isDenied, lockRecipient, sendToSettle } from './requests.ts';
import { type SendDependencies, sendWaiting } from './send.ts';

export interface RetryDependencies extends SendDependencies {
  readonly db: Pick<DataApi, 'query' | 'execute' | 'transaction'>;
  readonly deliveries: DeliveriesQueue;
  readonly denied: () => Promise<DenyList>;
  /** @default - every request fits */
  readonly quota?: OutboxQuota | undefined;
}

/** Why files cannot be retried: the reason of a rejection, or that no request has this id, or that its recipient was erased. */
export type RetryRefusal = RejectionReason | 'unknown_request' | 'rejected' | 'erased';

/** Files that one statement reopens, and the longest time, in milliseconds, for all of them. */
const filesAtOnce = 10_000;
const budgetMs = 600_000;

const requestRow = camelRow({
  recipient: optional(z.string()),
  depends_on: optional(hashes),
  has_expired: z.boolean(),
  is_released: z.boolean(),
});

/**
 * Try files of a request again that were given up, as if they had just been requested: under the lock of the recipient, within the quota, while
 * the visa lasts and the dataset is released. Run it again to send what a failure left.
 *
 * @param fileId the one file. @default - every file that was given up
 * @returns files that were given up and wait again, and the messages that were sent: also of files that an earlier retry had left
 */
export async function retryGivenUp(requestId: string, fileId: string | undefined, dependencies: RetryDependencies) {
  const { db, quota } = dependencies;
  const denied = await dependencies.denied();
  const wanted = {
    sql: `select f.file_id, f.bytes from data_out.request_files f
      where f.request_id = cast(:request_id as uuid) and f.state = 'given_up'
        and f.file_id = coalesce(cast(:file_id as text), f.file_id)`,
    parameters: { request_id: { uuid: requestId }, file_id: fileId ?? null },
  };
  const outcome = await db.transaction(async (transaction): Promise<RetryRefusal | number> => {
    const found = await findRequest(transaction, requestId);
    if (!found) return 'unknown_request';
    if (found.state === 'rejected') return 'rejected';
    await lockRecipient(transaction, found.recipient ?? '');
    const [request] = await transaction.query(
      requestRow,
      `select r.recipient, cast(r.depends_on as text) as depends_on,
         coalesce(r.visa_expires_at <= now(), true) as has_expired,
         coalesce((select ${newestEvent} = 'released' from sda.datasets d where d.stable_id = r.dataset_id), false) as is_released
       from data_out.requests r where r.request_id = cast(:request_id as uuid)
       for update`,
      { request_id: { uuid: requestId } },
    );
    if (request?.recipient === undefined) return 'erased';
    const { recipient, dependsOn = [] } = request;
    if (request.hasExpired) return 'visa_expired';
    if (isDenied(recipient, dependsOn, denied)) return 'visa_denied';
    if (!request.isReleased) return 'not_released';
    if (quota && !(await fitsQuota(transaction, recipient, wanted, quota))) return 'outbox_quota_exceeded';
    let files = 0;
    for (let after: string | undefined = ''; after !== undefined; ) {
      const [changed]: { files: number; last: string | null }[] = await transaction.query(
        z.object({ files: count, last: z.string().nullable() }),
        `with page as materialized (
           select f.file_id from (${wanted.sql}) f where f.file_id > :after order by f.file_id limit ${filesAtOnce}
         ), reopened as (
           update data_out.request_files f set state = 'waiting', reason = null, changed_at = now()
           from page s where f.request_id = cast(:request_id as uuid) and f.file_id = s.file_id and f.state = 'given_up'
           returning f.file_id
         )
         select count(*) as files, max(file_id) as last from reopened`,
        { ...wanted.parameters, after },
      );
      files += changed?.files ?? 0;
      after = changed?.last ?? undefined;
    }
    if (files > 0) {
      await transaction.execute(
        'update data_out.requests r set revision = r.revision + 1 where r.request_id = cast(:request_id as uuid)',
        { request_id: { uuid: requestId } },
      );
    }
    return files;
  }, budgetMs);
  if (typeof outcome === 'string') return { refused: outcome };
  const sent = await sendWaiting(requestId, dependencies, () => true);
  await sendToSettle([requestId], dependencies);
  return { reopened: outcome, sent };
}
