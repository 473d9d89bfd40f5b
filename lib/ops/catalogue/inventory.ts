import * as z from 'zod';
import { datasetNamed, newestEvent, nextMembers } from '../../service/catalogue/datasets.ts';
import { boundedPage, camelRow, count, idRow, nilUuid, optional, pageSize } from '../../service/stores/rds/columns.ts';
import type { SqlExecutor } from '../../service/stores/rds/data-api.ts';
import { pages } from './pages.ts';

const fileRow = camelRow({
  submission_file_path: z.string(),
  archive_file_path: z.string(),
  /** Names the bucket of the body: `<endpoint>/<bucket>`; `undefined`: the bucket of the deployment. */
  archive_location: optional(z.string()),
  archive_file_size: count,
  decrypted_file_size: count,
  /** Lower-case hex of the archive's public key that the header is for. */
  key_hash: optional(z.string()),
  /** Hex SHA-256 of the plaintext. */
  unencrypted_sha256: optional(z.string()),
});
const memberRow = idRow.extend({ newest_event: z.string().nullable() });
const listedRow = camelRow({
  id: z.string(),
  /** Null for a file that ingestion has not named yet. */
  stable_id: z.string().nullable(),
  submission_file_path: z.string(),
  /** Bytes of the file as it was given. */
  submission_file_size: optional(count),
  decrypted_file_size: optional(count),
  /** A JSON text: the Data API knows no arrays. */
  dataset_ids: z.string().transform((json) => z.array(z.string()).parse(JSON.parse(json))),
});
type ListedRow = z.infer<typeof listedRow>;
const datasetRow = camelRow({
  /** Stable id, `EGAD…`. */
  dataset_id: z.string(),
  /** Of `sda.dataset_event_log`; `undefined` when there is none. */
  newest_event: optional(z.string()),
  files: count,
  /** Plaintext bytes of its files, as far as the catalogue knows them. */
  bytes: count,
});

/** A file as the catalogue has it, for the operator. Sizes in bytes; `undefined`: the catalogue has none. */
export type InventoryFile = z.infer<typeof fileRow> & {
  readonly fileId: string;
  readonly datasetIds: readonly string[];
  /** Those of `datasetIds` that are released. */
  readonly releasedIn: readonly string[];
};

/** A line of the listing of files. Sizes in bytes; `undefined`: the catalogue has none. */
export type ListedFile = Omit<ListedRow, 'id' | 'stableId'> & { readonly fileId: string };

/** A dataset as the catalogue has it, for the operator. */
export type InventoryDataset = z.infer<typeof datasetRow>;

const datasetColumns = `d.stable_id as dataset_id,
  ${newestEvent} as newest_event,
  (select count(*) from sda.file_dataset fd where fd.dataset_id = d.id) as files,
  (select cast(coalesce(sum(f.decrypted_file_size), 0) as bigint)
   from sda.file_dataset fd join sda.files f on f.id = fd.file_id where fd.dataset_id = d.id) as bytes`;

/** The operator's queries before and after filling the catalogue. */
export class RdsArchiveInventory {
  protected readonly db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.db = db;
  }

  async findFile(fileId: string): Promise<InventoryFile | undefined> {
    const [row] = await this.db.query(
      fileRow,
      `select f.submission_file_path, f.archive_file_path, nullif(f.archive_location, '') as archive_location,
         coalesce(f.archive_file_size, 0) as archive_file_size, coalesce(f.decrypted_file_size, 0) as decrypted_file_size,
         f.key_hash, lower(c.checksum) as unencrypted_sha256
       from sda.files f
       left join sda.checksums c on c.file_id = f.id and c.source = 'UNENCRYPTED' and c.type = 'SHA256'
       where f.stable_id = :id`,
      { id: fileId },
    );
    if (!row) return undefined;
    const datasets = await this.db.query(
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
      ...row,
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
        : `select ${columns} from ${nextMembers(datasetNamed(':dataset_id'), `cast(coalesce(nullif(:after, ''), '${nilUuid}') as uuid)`)} page
           join sda.files f on f.id = page.file_id`;
    const read = (after: string) =>
      this.db.query(
        listedRow,
        boundedPage(page, {
          order: datasetId === undefined ? 'stable_id' : 'cast(id as uuid)',
          texts: 'concat(stable_id, submission_file_path, dataset_ids)',
        }),
        { after, ...(datasetId !== undefined && { dataset_id: datasetId }) },
      );
    const placeOf = ({ id, stableId }: ListedRow) => (datasetId === undefined ? (stableId ?? '') : id);
    for await (const { id: _, stableId: fileId, ...file } of pages('', read, placeOf)) {
      if (fileId !== null) yield { fileId, ...file };
    }
  }

  async findDataset(datasetId: string): Promise<InventoryDataset | undefined> {
    const [row] = await this.db.query(
      datasetRow,
      `select ${datasetColumns} from sda.datasets d where d.stable_id = :id`,
      { id: datasetId },
    );
    return row;
  }

  /** All datasets in the order of their ids, page after page. */
  datasets(): AsyncGenerator<InventoryDataset> {
    const read = (after: string) =>
      this.db.query(
        datasetRow,
        `select ${datasetColumns} from sda.datasets d where d.stable_id > :after order by d.stable_id limit ${pageSize}`,
        { after },
      );
    return pages('', read, ({ datasetId }) => datasetId, pageSize);
  }
}
