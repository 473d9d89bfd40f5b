import * as z from 'zod';
import { accessRefused } from '../../../direct/access-refused.ts';
import type { Checksum, DatasetFile, DirectCatalogue, FileFacts } from '../../../direct/ports.ts';
import { boundedPage } from '../bounded-page.ts';
import { count, pageSize } from '../columns.ts';
import type { SqlExecutor } from '../data-api.ts';
import { RdsCatalogue } from './catalogue.ts';
import { newestEvent } from './dataset-events.ts';

/** Sorts before the id of every file. */
const beforeEveryId = '00000000-0000-0000-0000-000000000000';

/** In order of preference: every client knows the first. */
const checksumTypes: readonly Checksum['type'][] = ['SHA256', 'SHA512', 'SHA384', 'MD5'];

const text = z.string().nullable();
const listedRow = z.object({
  id: z.string(),
  stable_id: z.string(),
  submission_file_path: text,
  archive_file_size: count.nullable(),
  decrypted_file_size: count.nullable(),
  plaintext: text,
});
const factsRow = z.object({
  decrypted_file_size: count.nullable(),
  created_ms: count.nullable(),
  plaintext: text,
  archived: text,
});

/** Checksums of the file `f` as one text: `SHA256:<hex> MD5:<hex>`. */
const checksumsOf = (source: 'UNENCRYPTED' | 'ARCHIVED') => `(
  select string_agg(cast(c.type as text) || ':' || c.checksum, ' ')
  from sda.checksums c where c.file_id = f.id and c.source = '${source}')`;

/** The queries of direct access on the catalogue in Aurora PostgreSQL. */
export class RdsDirectCatalogue extends RdsCatalogue implements DirectCatalogue {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    super(db);
    this.#db = db;
  }

  /**
   * Pages follow the index on dataset and file, so each of them costs the same. The second bound on the file lets the
   * planner begin there in both tables.
   */
  async *filesOfDataset(datasetId: string): AsyncGenerator<readonly DatasetFile[]> {
    for (let after = beforeEveryId; ; ) {
      const rows = await this.#db.query(
        listedRow,
        boundedPage(
          `select cast(f.id as text) as id, f.stable_id, f.submission_file_path, f.archive_file_size,
             f.decrypted_file_size, ${checksumsOf('UNENCRYPTED')} as plaintext
           from sda.file_dataset fd
           join sda.files f on f.id = fd.file_id
           where fd.dataset_id = (select d.id from sda.datasets d where d.stable_id = :id and ${newestEvent} = 'released')
             and fd.file_id > :after and f.id > :after
             and f.stable_id is not null and f.header <> '' and f.archive_file_path <> ''
           order by fd.file_id
           limit ${pageSize}`,
          {
            order: 'cast(id as uuid)',
            texts: "stable_id || coalesce(submission_file_path, '') || coalesce(plaintext, '')",
          },
        ),
        { id: datasetId, after: { uuid: after } },
      );
      const last = rows.at(-1);
      if (!last) break;
      yield rows.map(toDatasetFile);
      after = last.id;
    }
    // No rows mean the end, or that the dataset is no longer released. A listing that was cut short must not look
    // complete.
    if (!(await this.isReleased(datasetId))) throw accessRefused();
  }

  async factsOf(fileId: string): Promise<FileFacts | undefined> {
    const [row] = await this.#db.query(
      factsRow,
      `select f.decrypted_file_size, cast(extract(epoch from f.created_at) * 1000 as bigint) as created_ms,
         ${checksumsOf('UNENCRYPTED')} as plaintext, ${checksumsOf('ARCHIVED')} as archived
       from sda.files f where f.stable_id = :id`,
      { id: fileId },
    );
    return (
      row && {
        decryptedFileSize: row.decrypted_file_size ?? undefined,
        createdAt: row.created_ms === null ? undefined : new Date(row.created_ms),
        plaintextChecksums: parseChecksums(row.plaintext),
        archivedChecksums: parseChecksums(row.archived),
      }
    );
  }
}

function toDatasetFile(row: z.infer<typeof listedRow>): DatasetFile {
  return {
    fileId: row.stable_id,
    submissionFilePath: row.submission_file_path ?? '',
    archiveFileSize: row.archive_file_size ?? undefined,
    decryptedFileSize: row.decrypted_file_size ?? undefined,
    plaintextChecksums: parseChecksums(row.plaintext),
  };
}

/** A value that is not hexadecimal is no checksum, and is left out. */
function parseChecksums(joined: string | null): readonly Checksum[] {
  const values = new Map((joined ?? '').split(' ').map((one) => one.split(':', 2) as [string, string]));
  return checksumTypes.flatMap((type) => {
    const value = values.get(type)?.toLowerCase() ?? '';
    return /^(?:[0-9a-f]{2})+$/.test(value) ? [{ type, value }] : [];
  });
}
