import * as z from 'zod';
import { count, idRow, pageSize } from './columns.ts';
import type { SqlExecutor } from './data-api.ts';
import { newestEvent } from './dataset-events.ts';

/** A file as the catalogue has it, for the operator. Sizes in bytes. */
export interface InventoryFile {
  readonly fileId: string;
  readonly submissionFilePath: string;
  readonly archiveFilePath: string;
  readonly archiveFileSize: number;
  readonly decryptedFileSize: number;
  /** Hex SHA-256 of the plaintext; `undefined` when the catalogue has none. */
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

const fileRow = z.object({
  submission_file_path: z.string(),
  archive_file_path: z.string(),
  archive_file_size: count.nullable(),
  decrypted_file_size: count.nullable(),
  checksum: z.string().nullable(),
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
