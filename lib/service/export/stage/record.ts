import * as z from 'zod';
import { rowStates } from '../../../contract/delivery.ts';
import type { FileExportMessage } from '../../../contract/messages.ts';
import { isError } from '../../../errors.ts';
import { camelRow, snakeCase } from '../../stores/rds/columns.ts';
import type { SqlExecutor } from '../../stores/rds/data-api.ts';
import { audit, isOpen } from '../requests.ts';
import type { End, Order } from './order.ts';

/** A file and what its row said. A row that is gone, or whose recipient was erased, is not among them. */
const recordedRow = camelRow({
  request_id: z.string(),
  file_id: z.string(),
  /** The state before. */
  was: z.enum(rowStates),
  /** Whether the request may have no open file now: ask, once this is committed. */
  may_settle: z.boolean(),
});

type EndedFile = FileExportMessage & { readonly order?: Order | undefined; readonly end: End };

/** What a row says of an end. Without a state, the file stays open. */
function columnsOf({ requestId, fileId, order, end }: EndedFile) {
  const file = { requestId, fileId };
  if (end.outcome === 'continued' || end.outcome === 'ended') return snakeCase(file);
  if (end.outcome === 'failed') {
    // The text of an error is for the log alone.
    return snakeCase({ ...file, reason: isError(end.error) ? end.error.code : 'internal_error' });
  }
  const { outcome: state, ...facts } = end;
  return snakeCase({ ...file, state, outboxKey: order?.key, ...facts });
}

/**
 * Record how files ended, with their audit rows: everything or nothing. Only an open file takes an end, except that a late success
 * replaces `given_up`; the request may be settled by then, so its revision rises.
 *
 * @param filesInFlight most files that are staged at once. The last statement to commit among those that end a request's files sees at most so
 * many other open rows, so the request is settled when only the invocations that see no more ask for it.
 */
export async function recordEnds(db: SqlExecutor, files: readonly EndedFile[], filesInFlight: number) {
  const ends = files.filter(({ order, end }) => order || end.outcome !== 'ended').map(columnsOf);
  if (ends.length === 0) return [];
  return await db.query(
    recordedRow,
    `with ends as materialized (
       select * from jsonb_to_recordset(cast(:ends as jsonb)) as e
         (request_id uuid, file_id text, state text, reason text, by uuid, outbox_key text, bytes bigint,
          crc64nvme text, header_sha256 text)
     ), before as materialized (
       select f.request_id, f.file_id, f.state as was
       from data_out.request_files f join ends e on e.request_id = f.request_id and e.file_id = f.file_id
       join data_out.requests r on r.request_id = f.request_id and r.recipient is not null
       order by f.request_id, f.file_id for update of f
     ), ended as (
       update data_out.request_files f
       set state = coalesce(e.state, f.state), reason = e.reason, superseded_by = e.by, outbox_key = e.outbox_key,
         bytes = coalesce(e.bytes, f.bytes), crc64nvme = e.crc64nvme, header_sha256 = e.header_sha256,
         upload_id = case when e.state is null then f.upload_id end,
         upload_for = case when e.state is null then f.upload_for end, changed_at = now()
       from before b join ends e on e.request_id = b.request_id and e.file_id = b.file_id
       where f.request_id = b.request_id and f.file_id = b.file_id
         and (${isOpen('f')} or b.was = 'given_up' and e.state = 'staged')
       returning f.request_id, f.file_id, b.was, f.state, f.reason, f.bytes, f.crc64nvme
     ), raised as (
       update data_out.requests r set revision = r.revision + 1
       where r.request_id in (select d.request_id from ended d where d.was = 'given_up')
     ), audited as (
       ${audit(`select d.request_id, d.state, d.reason, r.archive_kind, r.dataset_id, d.file_id, r.recipient, r.key_fingerprint,
         case d.state when 'staged' then d.bytes end,
         case d.state when 'staged' then coalesce('crc64nvme:' || d.crc64nvme, 'none') end
       from ended d join data_out.requests r on r.request_id = d.request_id
       where d.state in ('staged', 'rejected', 'given_up')`)}
     ), nearly_settled as (
       select given.request_id from (select distinct e.request_id from ends e) given
       where (
         select count(*) from (
           select from data_out.request_files o
           where o.request_id = given.request_id and ${isOpen('o')} and not exists (
             select from ends e where e.request_id = o.request_id and e.file_id = o.file_id and e.state is not null)
           limit ${filesInFlight + 1}) others) <= ${filesInFlight}
     )
     select cast(b.request_id as text) as request_id, b.file_id, b.was,
       b.request_id in (select n.request_id from nearly_settled n) as may_settle
     from before b`,
    { ends: { json: ends } },
  );
}
