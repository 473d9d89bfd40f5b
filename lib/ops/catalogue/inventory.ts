import * as z from 'zod';
import { newestEvent } from '../../service/catalogue/dataset-events.ts';
import { datasetNamed, nextMembers, rowId } from '../../service/catalogue/dataset-files.ts';
import { boundedPage, count, idRow, pageSize } from '../../service/stores/rds/columns.ts';
import type { SqlExecutor } from '../../service/stores/rds/data-api.ts';

/** A file as the catalogue has it, for the operator. Sizes in bytes. */
export interface InventoryFile {
  readonly fileId: string;
  readonly submissionFilePath: string;
  readonly archiveFilePath: string;
  /** Names the bucket of the body: `<endpoint>/<bucket>`; `undefined`: the bucket of the deployment. */
  readonly archiveLocation: string | undefined;
  readonly archiveFileSize: number;
  readonly decryptedFileSize: number;
  /** Lower-case hex of the archive's public key that the header is for; `undefined` when the catalogue has none. */
  readonly keyHash: string | undefined;
  /** Hex SHA-256 of the plaintext; `undefined` when the catalogue has none. */
  readonly unencryptedSha256: string | undefined;
  readonly datasetIds: readonly string[];
  /** Those of `datasetIds` that are released. */
  readonly releasedIn: readonly string[];
}

/** A line of the listing of files. Sizes in bytes. */
export interface ListedFile {
  readonly fileId: string;
  readonly submissionFilePath: string;
  /** Bytes of the file as it was given; `undefined` when the catalogue has no size. */
  readonly submissionFileSize: number | undefined;
  readonly decryptedFileSize: number | undefined;
  readonly datasetIds: readonly string[];
}

/** A dataset as the catalogue has it, for the operator. */
export interface InventoryDataset {
  /** Stable id, `EGAD…`. */
  readonly datasetId: string;
  /** The newest event of `sda.dataset_event_log`; `undefined` when there is none. */
  readonly newestEvent: string | undefined;
  readonly files: number;
  /** Plaintext bytes of its files, as far as the catalogue knows them. */
  readonly bytes: number;
}

const fileRow = z.object({
  submission_file_path: z.string(),
  archive_file_path: z.string(),
  archive_location: z.string().nullable(),
  archive_file_size: count.nullable(),
  decrypted_file_size: count.nullable(),
  key_hash: z.string().nullable(),
  checksum: z.string().nullable(),
});
const memberRow = idRow.extend({ newest_event: z.string().nullable() });
const listedRow = z.object({
  id: z.string(),
  /** Null for a file that ingestion has not named yet. */
  stable_id: z.string().nullable(),
  submission_file_path: z.string(),
  submission_file_size: count.nullable(),
  decrypted_file_size: count.nullable(),
  /** A JSON text: the Data API knows no arrays. */
  dataset_ids: z.string().transform((text) => z.array(z.string()).parse(JSON.parse(text))),
});
const datasetRow = idRow.extend({ newest_event: z.string().nullable(), files: count, bytes: count });

const datasetColumns = `d.stable_id,
  ${newestEvent} as newest_event,
  (select count(*) from sda.file_dataset fd where fd.dataset_id = d.id) as files,
  (select cast(coalesce(sum(f.decrypted_file_size), 0) as bigint)
   from sda.file_dataset fd join sda.files f on f.id = fd.file_id where fd.dataset_id = d.id) as bytes`;

/** The operator's queries before and after filling the catalogue. */
export class RdsArchiveInventory {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  async findFile(fileId: string): Promise<InventoryFile | undefined> {
    const [row] = await this.#db.query(
      fileRow,
      `select f.submission_file_path, f.archive_file_path, f.archive_location, f.archive_file_size,
         f.decrypted_file_size, f.key_hash, c.checksum
       from sda.files f
       left join sda.checksums c on c.file_id = f.id and c.source = 'UNENCRYPTED' and c.type = 'SHA256'
       where f.stable_id = :id`,
      { id: fileId },
    );
    if (!row) return undefined;
    const datasets = await this.#db.query(
      memberRow,
      `select d.stable_id, ${newestEvent} as newest_event from sda.files f
       join sda.file_dataset fd on fd.file_id = f.id
       join sda.datasets d on d.id = fd.dataset_id
       where f.stable_id = :id and d.stable_id is not null
       order by d.stable_id
       limit ${pageSize}`,
      { id: fileId },
    );
    return {
      fileId,
      submissionFilePath: row.submission_file_path,
      archiveFilePath: row.archive_file_path,
      archiveLocation: row.archive_location || undefined,
      archiveFileSize: row.archive_file_size ?? 0,
      decryptedFileSize: row.decrypted_file_size ?? 0,
      keyHash: row.key_hash ?? undefined,
      unencryptedSha256: row.checksum?.toLowerCase(),
      datasetIds: datasets.map((dataset) => dataset.stable_id),
      releasedIn: datasets.filter((dataset) => dataset.newest_event === 'released').map(({ stable_id }) => stable_id),
    };
  }

  /** All files in the order of their ids, or those of one dataset in the catalogue's order. An unknown dataset has none. */
  async *files(datasetId?: string): AsyncGenerator<ListedFile> {
    const columns = `cast(f.id as text) as id, f.stable_id, f.submission_file_path, f.submission_file_size, f.decrypted_file_size,
      (select coalesce(cast(jsonb_agg(d.stable_id order by d.stable_id) as text), '[]')
       from sda.file_dataset fd join sda.datasets d on d.id = fd.dataset_id
       where fd.file_id = f.id and d.stable_id is not null) as dataset_ids`;
    const page =
      datasetId === undefined
        ? `select ${columns} from sda.files f where f.stable_id > :after order by f.stable_id limit ${pageSize}`
        : `select ${columns} from ${nextMembers(datasetNamed(':dataset_id'), rowId(':after'))} page
           join sda.files f on f.id = page.file_id`;
    for (let after = ''; ; ) {
      const rows: readonly z.infer<typeof listedRow>[] = await this.#db.query(
        listedRow,
        boundedPage(page, {
          order: datasetId === undefined ? 'stable_id' : 'cast(id as uuid)',
          texts: 'concat(stable_id, submission_file_path, dataset_ids)',
        }),
        { after, ...(datasetId !== undefined && { dataset_id: datasetId }) },
      );
      yield* rows.flatMap(toListedFile);
      const last = rows.at(-1);
      if (!last) return;
      after = datasetId === undefined ? (last.stable_id ?? '') : last.id;
    }
  }

  async findDataset(datasetId: string): Promise<InventoryDataset | undefined> {
    const [row] = await this.#db.query(
      datasetRow,
      `select ${datasetColumns} from sda.datasets d where d.stable_id = :id`,
      { id: datasetId },
    );
    return row && toDataset(row);
  }

  /** All datasets in the order of their ids, page after page. */
  async *datasets(): AsyncGenerator<InventoryDataset> {
    for (let after = ''; ; ) {
      const rows = await this.#db.query(
        datasetRow,
        `select ${datasetColumns} from sda.datasets d where d.stable_id > :after order by d.stable_id limit ${pageSize}`,
        { after },
      );
      yield* rows.map(toDataset);
      const last = rows.at(-1);
      if (!last || rows.length < pageSize) return;
      after = last.stable_id;
    }
  }
}

function toListedFile(row: z.infer<typeof listedRow>): ListedFile[] {
  if (row.stable_id === null) return [];
  return [
    {
      fileId: row.stable_id,
      submissionFilePath: row.submission_file_path,
      submissionFileSize: row.submission_file_size ?? undefined,
      decryptedFileSize: row.decrypted_file_size ?? undefined,
      datasetIds: row.dataset_ids,
    },
  ];
}

function toDataset(row: z.infer<typeof datasetRow>): InventoryDataset {
  return { datasetId: row.stable_id, newestEvent: row.newest_event ?? undefined, files: row.files, bytes: row.bytes };
}
