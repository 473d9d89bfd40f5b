import * as z from 'zod';
import type { ExportEvent } from '../../../export/ports.ts';
import type { FileEnd, RequestFiles } from '../../../export/settling.ts';
import type { SqlExecutor } from '../data-api.ts';
import { auditRows, insertEvents } from './export-log.ts';
import { hasOpenFiles, isOpen, maySettle, raiseGeneration } from './open-files.ts';

export const requestRow = z.object({ request_id: z.string() });

/** The table `data_out.request_files`, as the staging of files writes it. */
export class RdsRequestFiles implements RequestFiles {
  readonly #db: SqlExecutor;
  readonly #mostInFlight: number;

  /** @param mostInFlight most files that all invocations together stage at once */
  constructor(db: SqlExecutor, mostInFlight: number) {
    this.#db = db;
    this.#mostInFlight = mostInFlight;
  }

  async record(ends: readonly FileEnd[], events: readonly ExportEvent[]): Promise<readonly string[]> {
    const others = `not exists (
      select from ends e where e.request_id = o.request_id and e.file_id = o.file_id)`;
    const rows = await this.#db.query(
      requestRow,
      `with ends as materialized (
         select * from jsonb_to_recordset(cast(:ends as jsonb)) as e
           (request_id uuid, file_id text, state text, reason text, superseded_by uuid, outbox_key text, bytes bigint,
            crc64nvme text, header_sha256 text)
       ), before as materialized (
         select f.request_id, f.file_id, f.state from data_out.request_files f
         join ends e on e.request_id = f.request_id and e.file_id = f.file_id
         order by f.request_id, f.file_id for update of f
       ), ended as (
         update data_out.request_files f set
           state = e.state, reason = e.reason, superseded_by = e.superseded_by, outbox_key = e.outbox_key,
           bytes = e.bytes, crc64nvme = e.crc64nvme, header_sha256 = e.header_sha256, is_last_try = false,
           updated_at = now()
         from before b join ends e on e.request_id = b.request_id and e.file_id = b.file_id
         where f.request_id = b.request_id and f.file_id = b.file_id
           and (${isOpen('b')} or (b.state = 'given_up' and e.state = 'staged'))
         returning f.request_id
       ), raised as (
         ${raiseGeneration('select d.request_id from ended d')}
       ), audited as (
         ${insertEvents}
       )
       select cast(r.request_id as text) as request_id from data_out.requests r
       where r.request_id in (select e.request_id from ends e where e.state <> 'retrying')
         and ${maySettle('r.request_id', this.#mostInFlight, others)}`,
      { ends: { json: ends.map(rowOf) }, events: auditRows(events) },
    );
    return rows.map((row) => row.request_id);
  }

  async settledOf(requestIds: readonly string[]): Promise<readonly string[]> {
    const rows = await this.#db.query(
      requestRow,
      `select cast(r.request_id as text) as request_id from data_out.requests r
       where r.request_id in (select cast(id as uuid) from jsonb_array_elements_text(cast(:ids as jsonb)) as ids (id))
         and r.sealed_at is not null and r.settled_generation < r.generation
         and not ${hasOpenFiles('r.request_id')}`,
      { ids: { json: requestIds } },
    );
    return rows.map((row) => row.request_id);
  }
}

function rowOf(end: FileEnd) {
  return {
    request_id: end.requestId,
    file_id: end.fileId,
    state: end.state,
    reason: end.reason,
    superseded_by: end.supersededBy,
    outbox_key: end.outboxKey,
    bytes: end.bytes,
    crc64nvme: end.crc64nvme,
    header_sha256: end.headerSha256,
  };
}
