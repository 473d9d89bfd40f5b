import type { ExportEvent, ExportLog } from '../../export/ports.ts';
import type { SqlExecutor } from './data-api.ts';

/** The audit trail in `data_out.export_log`: one row for each event of a request and file, however often it is recorded. */
export class RdsExportLog implements ExportLog {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  async record(event: ExportEvent): Promise<void> {
    await this.#db.execute(
      `insert into data_out.export_log
         (request_id, event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint, bytes, checksum)
       values (cast(:request_id as uuid), :event, cast(:reason as text), cast(:archive_kind as text),
         cast(:dataset_id as text), cast(:file_id as text), cast(:recipient as text),
         cast(:key_fingerprint as text), cast(:bytes as bigint), cast(:checksum as text))
       on conflict (request_id, event, (coalesce(file_id, ''))) do nothing`,
      {
        request_id: { uuid: event.requestId },
        event: event.event,
        reason: event.reason ?? null,
        archive_kind: event.archiveKind ?? null,
        dataset_id: event.datasetId ?? null,
        file_id: event.fileId ?? null,
        recipient: event.recipient ?? null,
        key_fingerprint: event.keyFingerprint ?? null,
        bytes: event.bytes ?? null,
        checksum: event.checksum ?? null,
      },
    );
  }
}
