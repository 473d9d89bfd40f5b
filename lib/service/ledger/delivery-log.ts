import * as z from 'zod';
import { fileStates, requestStates } from '../../contract/delivery.ts';
import type {
  DeliveryLog,
  ExportEvent,
  ExportLog,
  FannedOutRequest,
  RequestEnd,
  RequestedFile,
} from '../export/ports.ts';
import { boundedPage, count, isoTime, pageSize, timeFormat } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { assignments, requestTakes } from './transition-sql.ts';
import { hasOpenFiles } from './transitions.ts';

const text = z.string().nullable();
const fileState = z.enum(fileStates);

const requestRow = z.object({
  request_id: z.string(),
  requested_at: z.string(),
  kind: z.enum(['dataset', 'file']),
  dataset_id: z.string(),
  file_id: text,
  recipient: z.string(),
  key_fingerprint: z.string(),
  state: z.enum(requestStates),
  generation: z.number(),
  settled_generation: z.number(),
  is_open: z.boolean(),
});

const fileRow = z.object({
  file_id: z.string(),
  state: fileState,
  reason: text,
  path: z.string(),
  plaintext_size: count.nullable(),
  plaintext_sha256: text,
  superseded_by: text,
  superseder_state: fileState.nullable(),
  newest_request: text,
});
const containerRow = z.object({
  newest_request: z.string(),
  key_fingerprint: z.string(),
  outbox_key: z.string(),
  bytes: count,
  crc64nvme: text,
  header_sha256: z.string(),
});

/** The tables `data_out.requests` and `data_out.request_files`, as far as a receipt is made of them. */
export class RdsDeliveryLog implements DeliveryLog {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  async find(exportId: string): Promise<FannedOutRequest | undefined> {
    const [row] = await this.#db.query(
      requestRow,
      `select cast(r.request_id as text) as request_id, ${isoTime('r.requested_at')} as requested_at,
         r.kind, r.dataset_id, r.file_id, r.recipient, r.key_fingerprint, r.state, r.generation, r.settled_generation,
         ${hasOpenFiles('r.request_id')} as is_open
       from data_out.requests r
       where r.request_id = :request and r.state <> 'rejected' and r.sealed_at is not null and r.recipient is not null
         and exists (select from data_out.request_files f where f.request_id = r.request_id)`,
      { request: { uuid: exportId }, ...timeFormat },
    );
    if (!row) return undefined;
    return {
      exportId: row.request_id,
      requestedAt: row.requested_at,
      kind: row.kind,
      datasetId: row.dataset_id,
      fileId: row.kind === 'file' ? (row.file_id ?? undefined) : undefined,
      recipient: row.recipient,
      keyFingerprint: row.key_fingerprint,
      state: row.state,
      receiptRevision: row.generation,
      finalizedRevision: row.settled_generation,
      isOpen: row.is_open,
    };
  }

  async *files(exportId: string): AsyncGenerator<readonly RequestedFile[]> {
    for (let after = ''; ; ) {
      const rows = await this.#page(exportId, after);
      const last = rows.at(-1);
      if (!last) return;
      yield rows;
      after = last.fileId;
    }
  }

  async #page(exportId: string, after: string): Promise<RequestedFile[]> {
    const rows = await this.#db.query(
      z.looseObject({}),
      boundedPage(
        `select f.file_id, f.state, f.reason, coalesce(c.submission_file_path, '') as path,
           c.decrypted_file_size as plaintext_size,
           (select s.checksum from sda.checksums s
            where s.file_id = c.id and s.source = 'UNENCRYPTED' and s.type = 'SHA256' limit 1) as plaintext_sha256,
           cast(f.superseded_by as text) as superseded_by, o.state as superseder_state,
           cast(n.request_id as text) as newest_request, n.key_fingerprint, n.outbox_key, n.bytes, n.crc64nvme, n.header_sha256
         from (
           select * from data_out.request_files where request_id = :request and file_id > :after
           order by file_id limit ${pageSize}
         ) f
         join data_out.requests r on r.request_id = f.request_id
         left join sda.files c on c.stable_id = f.file_id
         left join data_out.request_files o on o.request_id = f.superseded_by and o.file_id = f.file_id
         left join lateral (
           select w.request_id, q.key_fingerprint, w.outbox_key, w.bytes, w.crc64nvme, w.header_sha256
           from data_out.request_files w
           join data_out.requests q on q.request_id = w.request_id
           where w.outbox_key = f.outbox_key and w.state = 'staged'
             and (q.requested_at, q.request_id) >= (r.requested_at, r.request_id)
           order by q.requested_at desc, q.request_id desc
           limit 1) n on f.state in ('staged', 'superseded')`,
        {
          order: 'file_id',
          texts: 'concat(file_id, path, plaintext_sha256, outbox_key, key_fingerprint, header_sha256, newest_request)',
        },
      ),
      { request: { uuid: exportId }, after },
    );
    return rows.map(requestedFile);
  }

  async finalize(
    { exportId, receiptRevision }: Pick<FannedOutRequest, 'exportId' | 'receiptRevision'>,
    { state, staged, stagedBytes }: RequestEnd,
  ): Promise<boolean> {
    const rows = await this.#db.query(
      z.object({ finalized: z.boolean() }),
      `with finalized as (
         update data_out.requests r set ${assignments('finalized')}
         where r.request_id = :request and ${requestTakes('finalized')}
         returning r.request_id, r.state, r.archive_kind, r.dataset_id, r.file_id, r.recipient, r.key_fingerprint,
           r.staged_bytes),
       logged as (
         insert into data_out.export_log
           (request_id, event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint, bytes)
         select request_id, 'settled', state, archive_kind, dataset_id, file_id, recipient, key_fingerprint, staged_bytes
         from finalized
         on conflict (request_id, event, (coalesce(file_id, ''))) do nothing)
       select true as finalized from finalized`,
      { request: { uuid: exportId }, generation: receiptRevision, state, staged, staged_bytes: stagedBytes },
    );
    return rows.length > 0;
  }

  async close(
    { exportId, receiptRevision }: Pick<FannedOutRequest, 'exportId' | 'receiptRevision'>,
    hasReceipt: boolean,
  ): Promise<void> {
    await this.#db.execute(
      `update data_out.requests r set ${assignments('closed')}
       where r.request_id = :request and ${requestTakes('closed')}`,
      { request: { uuid: exportId }, generation: receiptRevision, has_receipt: hasReceipt },
    );
  }
}

function requestedFile(columns: unknown): RequestedFile {
  const row = fileRow.parse(columns);
  const container = row.newest_request === null ? undefined : containerRow.parse(columns);
  // The catalogue may have a checksum of another form. It is of no use to the reader of a receipt.
  const sha256 = /^[0-9a-f]{64}$/i.exec(row.plaintext_sha256 ?? '')?.[0]?.toLowerCase();
  return {
    fileId: row.file_id,
    state: row.state,
    reason: row.reason ?? undefined,
    path: row.path,
    plaintextSize: row.plaintext_size ?? undefined,
    plaintextSha256: sha256,
    newest: container && {
      exportId: container.newest_request,
      keyFingerprint: container.key_fingerprint,
      outboxKey: container.outbox_key,
      size: container.bytes,
      crc64nvme: container.crc64nvme ?? undefined,
      headerSha256: container.header_sha256,
    },
    supersededBy:
      row.superseded_by === null
        ? undefined
        : { exportId: row.superseded_by, state: row.superseder_state ?? undefined },
  };
}

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
    request_id: event.exportId,
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
