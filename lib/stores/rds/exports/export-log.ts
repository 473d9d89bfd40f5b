import type { ExportEvent, ExportLog } from '../../../export/ports.ts';
import type { SqlExecutor } from '../data-api.ts';

/**
 * Adds the rows of the parameter `events`, see {@link auditRows}. In order, so that two statements with the same rows cannot
 * wait for each other.
 */
export const insertEvents = `insert into data_out.export_log
     (request_id, event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint, bytes, checksum)
   select request_id, event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint, bytes, checksum
   from jsonb_to_recordset(cast(:events as jsonb)) as e
     (request_id uuid, event text, reason text, archive_kind text, dataset_id text, file_id text, recipient text,
      key_fingerprint text, bytes bigint, checksum text)
   order by request_id, event, file_id
   on conflict (request_id, event, (coalesce(file_id, ''))) do nothing`;

/** The value of the parameter `events`. */
export function auditRows(events: readonly ExportEvent[]): { readonly json: unknown } {
  return { json: events.map(rowOf) };
}

/** The audit trail in `data_out.export_log`: one row for each event of a request and file, however often it is recorded. */
export class RdsExportLog implements ExportLog {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  async record(...events: readonly ExportEvent[]): Promise<void> {
    await this.#db.execute(insertEvents, { events: auditRows(events) });
  }
}

function rowOf(event: ExportEvent) {
  return {
    request_id: event.requestId,
    event: event.event,
    reason: event.reason,
    archive_kind: event.archiveKind,
    dataset_id: event.datasetId,
    file_id: event.fileId,
    recipient: event.recipient,
    key_fingerprint: event.keyFingerprint,
    bytes: event.bytes,
    checksum: event.checksum,
  };
}
