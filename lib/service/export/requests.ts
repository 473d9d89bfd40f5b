import * as z from 'zod';
import type { RowState } from '../../contract/delivery.ts';
import type { DenyList } from '../../contract/deny-list.ts';
import { outboxKey } from '../../contract/outbox-key.ts';
import { outboxFileName } from '../containers/container-name.ts';
import type { DeliveriesQueue } from '../stores/queues.ts';
import { camelRow, optional } from '../stores/rds/columns.ts';
import type { SqlExecutor, SqlParameters } from '../stores/rds/data-api.ts';

// In the words of the partial indexes of `data_out.requests` (r) and `data_out.request_files`.
/** Whether a file has not ended. @param row alias of `data_out.request_files` */
export const isOpen = (row: string) => `${row}.state in ('waiting', 'sent')`;
export const isOpenState = (state: RowState | undefined) => state === 'waiting' || state === 'sent';

/** The column `depends_on`, as text: hashes by which the deny list knows the visa, besides the recipient. */
export const hashes = z.string().transform((text) => z.array(z.string()).parse(JSON.parse(text)));

/** Whether the recipient of a request or its visa is denied. */
export const isDenied = (recipient: string, dependsOn: readonly string[], denied: DenyList) =>
  [recipient, ...dependsOn].some((hash) => denied.has(hash));

/** Outbox key of a container: as its row has it, or as it follows from the path. `undefined`: the catalogue no longer has the file. */
export const containerKey = (
  recorded: string | undefined,
  recipient: string,
  fileId: string,
  path: string | undefined,
) => recorded ?? (path === undefined ? undefined : outboxKey(recipient, outboxFileName(fileId, path)));

/** @param request expression for the id of a request */
export const hasOpenFiles = (request: string) => `exists (
  select from data_out.request_files o where o.request_id = ${request} and ${isOpen('o')})`;

/** Whether a request has an open file, or its receipt is not of its last revision. */
export const isUnsettled = 'r.settled_revision < r.revision';

const auditColumns =
  'request_id, event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint, bytes, checksum';

/**
 * Adds rows to the audit trail. An event that is recorded again leaves one row. The rows are in order, so that two statements with the
 * same rows cannot wait for each other.
 *
 * @param rows query of the columns in the order of {@link auditColumns}
 */
export const audit = (rows: string) => `insert into data_out.export_log (${auditColumns}) ${rows}
  order by 1, 2, 6 on conflict (request_id, event, (coalesce(file_id, ''))) do nothing`;

const requestRow = camelRow({
  state: z.string(),
  reason: optional(z.string()),
  dataset_id: optional(z.string()),
  recipient: optional(z.string()),
  files: z.number(),
});

/** The row of a request; `undefined` while no delivery has decided on it. Its `recipient` is missing once the person was erased. */
export async function findRequest(db: SqlExecutor, requestId: string) {
  const [row] = await db.query(
    requestRow,
    `select r.state, r.reason, r.dataset_id, r.recipient, r.files from data_out.requests r
     where r.request_id = cast(:request_id as uuid)`,
    { request_id: { uuid: requestId } },
  );
  return row;
}

/**
 * Hold the decisions about one recipient until the transaction ends. The lock needs its own statement, because the next one
 * then sees what the transaction before has committed.
 */
export async function lockRecipient(transaction: SqlExecutor, recipient: string): Promise<void> {
  const key = "hashtextextended('recipient ' || :recipient, 0)";
  await transaction.execute(`select pg_advisory_xact_lock(${key}) is not null`, { recipient });
}

/**
 * Send on those of the requests that can be settled: no file is open, and the last revision is not settled. Ask after the commit of
 * a change, by this separate statement, because a statement does not see what another one commits at the same time. A request may be
 * sent twice.
 */
export async function sendToSettle(
  touched: Iterable<string>,
  { db, deliveries }: { readonly db: SqlExecutor; readonly deliveries: DeliveriesQueue },
): Promise<void> {
  const ids = [...new Set(touched)];
  if (ids.length === 0) return;
  const settling = await requestIds(
    db,
    `select cast(r.request_id as text) as request_id from data_out.requests r
     where r.request_id in (select cast(id as uuid) from jsonb_array_elements_text(cast(:ids as jsonb)) as ids (id))
       and ${isUnsettled} and r.recipient is not null
       and not ${hasOpenFiles('r.request_id')}`,
    { ids: { json: ids } },
  );
  if (settling.length > 0) await deliveries.send(settling);
}

/** The ids that a query of `request_id` finds, as text. */
export async function requestIds(db: SqlExecutor, sql: string, parameters: SqlParameters): Promise<readonly string[]> {
  const rows = await db.query(z.object({ request_id: z.string() }), sql, parameters);
  return rows.map((row) => row.request_id);
}

/** Seconds from a request until now, to the millisecond. A clock behind the delivery API's counts as 0. @param requestedAt ISO 8601 */
export function secondsSince(requestedAt: string, now: Date): number {
  return Math.max(0, now.getTime() - Date.parse(requestedAt)) / 1000;
}
