import * as z from 'zod';
import type { UploadedPart } from '../archive/ports.ts';
import type { CopyId, CopyRecords, RecordedUpload, UploadFacts } from '../export/ports.ts';
import { count } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';

/** Entity tag and CRC by part number. Ten thousand of them stay below the 1 MiB of a result. */
const savedParts = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.record(z.string(), z.tuple([z.string(), z.string().nullable()])));

const takenRow = z.object({
  without_progress: z.number(),
  outbox_key: z.string().nullable(),
  upload_id: z.string().nullable(),
  source_etag: z.string().nullable(),
  header_digest: z.string().nullable(),
  part_size: count.nullable(),
  parts: savedParts,
});

const anyRow = z.object({ file_id: z.string() });
const uploadRow = z.object({ outbox_key: z.string(), upload_id: z.string() });

const ofCopy = 'request_id = cast(:request_id as uuid) and file_id = :file_id';
const held = `${ofCopy} and holder = cast(:holder as uuid)`;
const keyOf = ({ exportId, fileId }: CopyId) => ({ request_id: { uuid: exportId }, file_id: fileId });

/** Unfinished copies in `data_out.uploads`. Every statement may be repeated after a lost answer. */
export class RdsCopyRecords implements CopyRecords {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  async take(
    id: CopyId,
    holder: string,
    isFirst: boolean,
  ): Promise<{ withoutProgress: number; upload: RecordedUpload | undefined }> {
    const [row] = await this.#db.query(
      takenRow,
      `insert into data_out.uploads as known (request_id, file_id, holder, without_progress)
       values (cast(:request_id as uuid), :file_id, cast(:holder as uuid), 1)
       on conflict (request_id, file_id) do update set
         holder = excluded.holder,
         without_progress = case when :is_first then 1 when known.holder = excluded.holder then known.without_progress
           else known.without_progress + 1 end,
         taken_at = now()
       returning without_progress, outbox_key, upload_id, source_etag, header_digest, part_size, parts`,
      { ...keyOf(id), holder: { uuid: holder }, is_first: isFirst },
    );
    if (!row) throw new TypeError('the database took a copy and gave no row');
    return { withoutProgress: row.without_progress, upload: uploadOf(row) };
  }

  async begin(id: CopyId, holder: string, upload: UploadFacts & { readonly uploadId: string }): Promise<boolean> {
    const rows = await this.#db.query(
      anyRow,
      `update data_out.uploads set outbox_key = :outbox_key, upload_id = :upload_id, source_etag = :source_etag,
         header_digest = :header_digest, part_size = cast(:part_size as bigint), parts = '{}'
       where ${held}
       returning file_id`,
      {
        ...keyOf(id),
        holder: { uuid: holder },
        outbox_key: upload.key,
        upload_id: upload.uploadId,
        source_etag: upload.sourceEtag,
        header_digest: upload.headerDigest,
        part_size: upload.partSize,
      },
    );
    return rows.length > 0;
  }

  async save(id: CopyId, holder: string, parts: readonly UploadedPart[]): Promise<boolean> {
    const saved = Object.fromEntries(
      parts.map(({ partNumber, etag, crc64nvme }) => [partNumber, [etag.replaceAll('"', ''), crc64nvme ?? null]]),
    );
    const rows = await this.#db.query(
      anyRow,
      `update data_out.uploads set parts = parts || cast(:parts as jsonb), without_progress = 0
       where ${held}
       returning file_id`,
      { ...keyOf(id), holder: { uuid: holder }, parts: { json: saved } },
    );
    return rows.length > 0;
  }

  async setWithoutProgress(id: CopyId, withoutProgress: number): Promise<void> {
    await this.#db.execute(`update data_out.uploads set without_progress = :without_progress where ${ofCopy}`, {
      ...keyOf(id),
      without_progress: withoutProgress,
    });
  }

  async find(id: CopyId): Promise<{ key: string; uploadId: string } | undefined> {
    const [row] = await this.#db.query(
      uploadRow,
      `select outbox_key, upload_id from data_out.uploads where ${ofCopy} and upload_id is not null`,
      keyOf(id),
    );
    return row && { key: row.outbox_key, uploadId: row.upload_id };
  }

  async forget(id: CopyId): Promise<void> {
    // No queue keeps a message for more than 14 days.
    await this.#db.execute(
      `delete from data_out.uploads where (${ofCopy}) or taken_at < now() - interval '28 days'`,
      keyOf(id),
    );
  }

  async uploadsTo(key: string): Promise<ReadonlySet<string>> {
    const rows = await this.#db.query(
      uploadRow,
      'select outbox_key, upload_id from data_out.uploads where outbox_key = :outbox_key and upload_id is not null',
      { outbox_key: key },
    );
    return new Set(rows.map(({ upload_id: uploadId }) => uploadId));
  }
}

function uploadOf(row: z.infer<typeof takenRow>): RecordedUpload | undefined {
  const { outbox_key: key, upload_id: uploadId, source_etag: sourceEtag, header_digest: headerDigest } = row;
  if (key === null || uploadId === null || sourceEtag === null || headerDigest === null || row.part_size === null) {
    return undefined;
  }
  const parts = Object.entries(row.parts).map(([partNumber, [etag, crc]]) => ({
    partNumber: Number(partNumber),
    etag: `"${etag}"`,
    crc64nvme: crc ?? undefined,
  }));
  return { key, uploadId, sourceEtag, headerDigest, partSize: row.part_size, parts };
}
