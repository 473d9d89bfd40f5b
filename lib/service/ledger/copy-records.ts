import * as z from 'zod';
import type { CopyId, CopyRecords, RecordedUpload } from '../export/ledger-port.ts';
import { camelRow, count, optional } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';

/** Entity tag and CRC by part number. Ten thousand of them stay below the 1 MiB of a result. */
const savedParts = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.record(z.string(), z.tuple([z.string(), z.string().nullable()])));

const takenRow = camelRow({
  without_progress: z.number(),
  outbox_key: optional(z.string()),
  upload_id: optional(z.string()),
  source_etag: optional(z.string()),
  header_digest: optional(z.string()),
  part_size: optional(count),
  parts: savedParts,
});
const copyRow = camelRow({
  request_id: z.string(),
  file_id: z.string(),
  outbox_key: z.string(),
  upload_id: z.string(),
});
const anyRow = z.object({ file_id: z.string() });

const ofCopy = 'u.request_id = cast(:request_id as uuid) and u.file_id = :file_id';
const ofHolder = `${ofCopy} and u.holder = cast(:holder as uuid)`;
const keyOf = ({ requestId, fileId }: CopyId) => ({ request_id: { uuid: requestId }, file_id: fileId });

/** Copies of which some are read at once. */
const most = 400;

/** Unfinished copies in `data_out.uploads`. */
export function copyRecords(db: SqlExecutor): CopyRecords {
  const recorded = (condition: string, parameters: Parameters<SqlExecutor['query']>[2]) =>
    db.query(
      copyRow,
      `select cast(u.request_id as text) as request_id, u.file_id, u.outbox_key, u.upload_id from data_out.uploads u
       where ${condition} and u.upload_id is not null and u.outbox_key is not null
       order by u.request_id, u.file_id limit ${most}`,
      parameters,
    );
  return {
    async take(id, holder, isFirst) {
      const [row] = await db.query(
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
      return { withoutProgress: row.withoutProgress, upload: uploadOf(row) };
    },

    async begin(id, holder, { outboxKey, uploadId, sourceEtag, headerDigest, partSize }) {
      const rows = await db.query(
        anyRow,
        `update data_out.uploads u set outbox_key = :outbox_key, upload_id = :upload_id, source_etag = :source_etag,
           header_digest = :header_digest, part_size = cast(:part_size as bigint), parts = '{}'
         where ${ofHolder}
         returning u.file_id`,
        {
          ...{ ...keyOf(id), holder: { uuid: holder }, outbox_key: outboxKey, upload_id: uploadId },
          ...{ source_etag: sourceEtag, header_digest: headerDigest, part_size: partSize },
        },
      );
      return rows.length > 0;
    },

    async save(id, holder, parts) {
      const saved = Object.fromEntries(
        parts.map(({ partNumber, etag, crc64nvme }) => [partNumber, [etag.replaceAll('"', ''), crc64nvme ?? null]]),
      );
      const rows = await db.query(
        anyRow,
        `update data_out.uploads u set parts = u.parts || cast(:parts as jsonb), without_progress = 0
         where ${ofHolder}
         returning u.file_id`,
        { ...keyOf(id), holder: { uuid: holder }, parts: { json: saved } },
      );
      return rows.length > 0;
    },

    find: async (id) => (await recorded(ofCopy, keyOf(id)))[0],

    // No queue keeps a message for more than 14 days.
    forget: (id) =>
      db.execute(
        `delete from data_out.uploads u where (${ofCopy}) or u.taken_at < now() - interval '28 days'`,
        keyOf(id),
      ),

    async uploadsTo(outboxKey) {
      const copies = await recorded('u.outbox_key = :outbox_key', { outbox_key: outboxKey });
      return new Set(copies.map(({ uploadId }) => uploadId));
    },

    ofDataset: (datasetId) =>
      recorded('u.request_id in (select r.request_id from data_out.requests r where r.dataset_id = :dataset)', {
        dataset: datasetId,
      }),

    forgetUpload: ({ uploadId, ...id }) =>
      db.execute(
        `update data_out.uploads u set outbox_key = null, upload_id = null, parts = '{}'
         where ${ofCopy} and u.upload_id = :upload_id`,
        { ...keyOf(id), upload_id: uploadId },
      ),
  };
}

function uploadOf({ withoutProgress: _, ...row }: z.infer<typeof takenRow>): RecordedUpload | undefined {
  const { outboxKey, uploadId, sourceEtag, headerDigest, partSize } = row;
  if (!outboxKey || !uploadId || sourceEtag === undefined || headerDigest === undefined || partSize === undefined) {
    return undefined;
  }
  const parts = Object.entries(row.parts).map(([partNumber, [etag, crc]]) => ({
    partNumber: Number(partNumber),
    etag: `"${etag}"`,
    crc64nvme: crc ?? undefined,
  }));
  return { outboxKey, uploadId, sourceEtag, headerDigest, partSize, parts };
}
