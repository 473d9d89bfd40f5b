import * as z from 'zod';
import { accessRefused } from '../direct/access.ts';
import type { Checksum, DatasetFile, DirectCatalogue } from '../direct/ports.ts';
import { boundedPage, camelRow, count, nilUuid, optional } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { rdsCatalogue } from './catalogue.ts';
import { datasetNamed, isIngested, newestEvent, nextMembers } from './datasets.ts';

/** In order of preference: every client knows the first. */
const checksumTypes: readonly Checksum['type'][] = ['SHA256', 'SHA512', 'SHA384', 'MD5'];

/** A value that is not hexadecimal is not a checksum, and is left out. */
const checksums = z
  .string()
  .nullable()
  .transform((joined): readonly Checksum[] => {
    const values = new Map((joined ?? '').split(' ').map((one) => one.split(':', 2) as [string, string]));
    return checksumTypes.flatMap((type) => {
      const value = values.get(type)?.toLowerCase() ?? '';
      return /^(?:[0-9a-f]{2})+$/.test(value) ? [{ type, value }] : [];
    });
  });

const listedRow = camelRow({
  id: z.string(),
  /** Absent for a file that ingestion has not finished. */
  file_id: optional(z.string()),
  submission_file_path: z
    .string()
    .nullable()
    .transform((path) => path ?? ''),
  archive_file_size: optional(count),
  decrypted_file_size: optional(count),
  plaintext_checksums: checksums,
});
const factsRow = camelRow({
  decrypted_file_size: optional(count),
  created_at: optional(count.transform((ms) => new Date(ms))),
  plaintext_checksums: checksums,
});

/** Checksums of the plaintext of the file `f` as one text: `SHA256:<hex> MD5:<hex>`. */
const plaintextChecksums = `(
  select string_agg(cast(c.type as text) || ':' || c.checksum, ' ')
  from sda.checksums c where c.file_id = f.id and c.source = 'UNENCRYPTED')`;

const listedColumns = `cast(f.id as text) as id, case when ${isIngested} then f.stable_id end as file_id, f.submission_file_path,
           f.archive_file_size, f.decrypted_file_size, ${plaintextChecksums} as plaintext_checksums`;

/** The file of a row; none that ingestion has not finished. */
function listedFile({ id: _, fileId, ...file }: z.infer<typeof listedRow>): readonly DatasetFile[] {
  return fileId === undefined ? [] : [{ fileId, ...file }];
}

/** Of the dataset `:id`, the files that can be served. */
const members = `sda.file_dataset fd join sda.files f on f.id = fd.file_id
         where fd.dataset_id = ${datasetNamed(':id')} and ${isIngested}`;
/** As an index has it, so that the size of the dataset does not matter. */
const pathWithoutUser = "regexp_replace(f.submission_file_path, '^[^/_]+_[^/_]+/', '')";

/** Whether the path of the membership `fd`, as a container has it, begins with `:prefix`. */
const isBelow = `and exists (select 1 from sda.files f where f.id = fd.file_id
             and starts_with(regexp_replace(f.submission_file_path, '([.]c4gh)?$', '.c4gh'), :prefix))`;

/** The queries of the direct API on the catalogue. */
export function directCatalogue(db: SqlExecutor): DirectCatalogue {
  const catalogue = rdsCatalogue(db);
  return {
    ...catalogue,

    async *filesOfDataset(datasetId, place = nilUuid, prefix = '') {
      const released = `(select d.id from sda.datasets d where d.stable_id = :id and ${newestEvent} = 'released')`;
      const page = boundedPage(
        `select ${listedColumns}
         from ${nextMembers(released, ':after', prefix && isBelow)} page
         join sda.files f on f.id = page.file_id
         order by f.id`,
        {
          order: 'cast(id as uuid)',
          texts: "coalesce(file_id, '') || coalesce(submission_file_path, '') || coalesce(plaintext_checksums, '')",
        },
      );
      for (let after = place; ; ) {
        const position = { id: datasetId, after: { uuid: after } };
        const rows = await db.query(listedRow, page, prefix ? { ...position, prefix } : position);
        const last = rows.at(-1);
        if (!last) break;
        yield rows.flatMap(listedFile);
        after = last.id;
      }
      // No rows mean the end, or that the dataset is no longer released. A listing that was cut short must not look
      // complete.
      if (!(await catalogue.isReleased(datasetId))) throw accessRefused();
    },

    async placeInDataset(datasetId, fileId) {
      const [row] = await db.query(
        z.object({ id: z.string() }),
        `select cast(f.id as text) as id
         from sda.files f
         join sda.file_dataset fd on fd.file_id = f.id
         join sda.datasets d on d.id = fd.dataset_id
         where f.stable_id = :file and d.stable_id = :id`,
        { id: datasetId, file: fileId },
      );
      return row?.id;
    },

    async filesAt(datasetId, path, behindUser) {
      const bare = path.replace(/\.c4gh$/, '');
      const orBehind = behindUser ? `or ${pathWithoutUser} in (:path, :bare)` : '';
      const rows = await db.query(
        listedRow,
        `select ${listedColumns} from ${members} and (f.submission_file_path in (:path, :bare) ${orBehind})
         order by f.id limit 2`,
        { id: datasetId, path: `${bare}.c4gh`, bare },
      );
      return rows.flatMap(listedFile);
    },

    async totalsOf(datasetId) {
      const [totals] = await db.query(
        z.object({ files: count, size: count }),
        `select count(*) as files, coalesce(sum(f.decrypted_file_size), 0) as size from ${members}`,
        { id: datasetId },
      );
      return totals ?? { files: 0, size: 0 };
    },

    async factsOf(fileId) {
      const [row] = await db.query(
        factsRow,
        `select f.decrypted_file_size, cast(extract(epoch from f.created_at) * 1000 as bigint) as created_at,
           ${plaintextChecksums} as plaintext_checksums
         from sda.files f where f.stable_id = :id`,
        { id: fileId },
      );
      return row;
    },
  };
}
