import * as z from 'zod';
import { NotFoundError } from '../errors.ts';
import type { SqlExecutor } from './data-api.ts';

/** A file as the catalogue has it, for the operator. Sizes in bytes. */
export interface InventoryFile {
  readonly fileId: string;
  readonly submissionFilePath: string;
  readonly archiveFilePath: string;
  readonly archiveFileSize: number;
  readonly decryptedFileSize: number;
  /** Hex SHA-256 of the plaintext; `undefined` when whoever entered the file kept none. */
  readonly unencryptedSha256: string | undefined;
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

/** Rows of a keyset page: ids have at most 256 characters, so it stays far below the 1 MiB of a result. */
const pageSize = 1000;

const count = z.coerce.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const idRow = z.object({ stable_id: z.string() });
const fileRow = z.object({
  submission_file_path: z.string(),
  archive_file_path: z.string(),
  archive_file_size: count.nullable(),
  decrypted_file_size: count.nullable(),
  checksum: z.string().nullable(),
});
const datasetRow = idRow.extend({ newest_event: z.string().nullable(), files: count, bytes: count });

const datasetColumns = `d.stable_id,
  (select e.event from sda.dataset_event_log e where e.dataset_id = d.stable_id
   order by e.event_date desc nulls last, e.id desc limit 1) as newest_event,
  (select count(*) from sda.file_dataset fd where fd.dataset_id = d.id) as files,
  (select cast(coalesce(sum(f.decrypted_file_size), 0) as bigint)
   from sda.file_dataset fd join sda.files f on f.id = fd.file_id where fd.dataset_id = d.id) as bytes`;

/** What an operator asks the catalogue before and after filling it, and changes of what is there. */
export class RdsArchiveInventory {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  async findFile(fileId: string): Promise<InventoryFile | undefined> {
    const [row] = await this.#db.query(
      fileRow,
      `select f.submission_file_path, f.archive_file_path, f.archive_file_size, f.decrypted_file_size, c.checksum
       from sda.files f
       left join sda.checksums c on c.file_id = f.id and c.source = 'UNENCRYPTED' and c.type = 'SHA256'
       where f.stable_id = :id`,
      { id: fileId },
    );
    if (!row) return undefined;
    const datasets = await this.#db.query(
      idRow,
      `select d.stable_id from sda.files f
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
      archiveFileSize: row.archive_file_size ?? 0,
      decryptedFileSize: row.decrypted_file_size ?? 0,
      unencryptedSha256: row.checksum?.toLowerCase(),
      datasetIds: datasets.map((dataset) => dataset.stable_id),
    };
  }

  /**
   * Put a file of the catalogue into one more dataset, which is made when it is new. Doing it twice changes nothing.
   *
   * @throws NotFoundError when the catalogue has no such file; then no dataset is made.
   */
  async addToDataset(fileId: string, datasetId: string): Promise<void> {
    const found = await this.#db.query(
      idRow,
      `with file as (
         select id, stable_id from sda.files where stable_id = :file_id
       ), dataset as (
         insert into sda.datasets (stable_id) select cast(:dataset_id as text) from file
         on conflict (stable_id) do update set stable_id = excluded.stable_id
         returning id, stable_id
       ), registered as (
         insert into sda.dataset_event_log (dataset_id, event)
         select stable_id, 'registered' from dataset
         where not exists (select 1 from sda.dataset_event_log e where e.dataset_id = :dataset_id)
       ), membership as (
         insert into sda.file_dataset (file_id, dataset_id) select file.id, dataset.id from file, dataset
         on conflict (file_id, dataset_id) do nothing
       )
       select stable_id from file`,
      { file_id: fileId, dataset_id: datasetId },
    );
    if (found.length === 0) throw new NotFoundError(`the catalogue has no file ${fileId}`);
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

function toDataset(row: z.infer<typeof datasetRow>): InventoryDataset {
  return { datasetId: row.stable_id, newestEvent: row.newest_event ?? undefined, files: row.files, bytes: row.bytes };
}
