import * as z from 'zod';
import { rowStates } from '../../../contract/delivery.ts';
import { boundedPage, camelRow, count, optional, pageSize } from '../../stores/rds/columns.ts';
import type { SqlExecutor } from '../../stores/rds/data-api.ts';

const fileRow = camelRow({
  file_id: z.string(),
  state: z.enum(rowStates),
  reason: optional(z.string()),
  /** As the submitter gave it. */
  path: z.string(),
  /** Bytes; `undefined` when the catalogue does not say, as the SHA-256. */
  plaintext_size: optional(count),
  plaintext_sha256: optional(z.string()),
  /** For `superseded`: the request whose container was in the way, and the state of its row, if it has one. */
  superseded_by: optional(z.string()),
  superseder_state: optional(z.enum(rowStates)),
  request_id: optional(z.string()),
});
/** For `staged` and `superseded`: the newest container of this file, of this request or a newer one. */
const containerRow = camelRow({
  request_id: z.string(),
  key_fingerprint: z.string(),
  outbox_key: z.string(),
  size: count,
  crc64nvme: optional(z.string()),
  header_sha256: z.string(),
});

/** A file of a request, and what is in the outbox under its name now. */
export type RequestedFile = ReturnType<typeof requestedFile>;

/**
 * The files of a request in the order of their ids, page after page, with what the outbox has under their keys.
 *
 * @param position of the first one, from 0
 */
export async function* filesForReceipt(
  db: SqlExecutor,
  requestId: string,
  position: number,
): AsyncGenerator<readonly RequestedFile[]> {
  for (let after = await fileBefore(db, requestId, position); ; ) {
    const rows = await db.query(
      z.looseObject({ page_rows: count }),
      boundedPage(
        `select f.file_id, f.state, f.reason, coalesce(c.submission_file_path, '') as path,
           c.decrypted_file_size as plaintext_size,
           (select s.checksum from sda.checksums s
            where s.file_id = c.id and s.source = 'UNENCRYPTED' and s.type = 'SHA256' limit 1) as plaintext_sha256,
           cast(f.superseded_by as text) as superseded_by, o.state as superseder_state,
           cast(n.request_id as text) as request_id, n.key_fingerprint, n.outbox_key, n.bytes as size, n.crc64nvme,
           n.header_sha256
         from (
           select * from data_out.request_files where request_id = :request_id and file_id > :after
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
          texts: 'concat(file_id, path, plaintext_sha256, outbox_key, key_fingerprint, header_sha256, request_id)',
        },
      ),
      { request_id: { uuid: requestId }, after },
    );
    const page = rows.map(requestedFile);
    const last = page.at(-1);
    if (!last) return;
    yield page;
    // Most requests have one page, and another query would take as long as it.
    if (page.length < pageSize && page.length === rows[0]?.page_rows) return;
    after = last.fileId;
  }
}

/** The id of the file before a position, or an empty text before all. */
async function fileBefore(db: SqlExecutor, requestId: string, position: number): Promise<string> {
  if (position === 0) return '';
  const [row] = await db.query(
    z.object({ file_id: z.string() }),
    `select f.file_id from data_out.request_files f where f.request_id = cast(:request_id as uuid)
     order by f.file_id offset ${position - 1} limit 1`,
    { request_id: { uuid: requestId } },
  );
  return row?.file_id ?? '';
}

function requestedFile(columns: unknown) {
  const { requestId: newest, plaintextSha256, ...file } = fileRow.parse(columns);
  return {
    ...file,
    // The catalogue may have a checksum of another form. It is of no use to the reader of a receipt.
    plaintextSha256: /^[0-9a-f]{64}$/i.exec(plaintextSha256 ?? '')?.[0]?.toLowerCase(),
    newest: newest === undefined ? undefined : containerRow.parse(columns),
  };
}
