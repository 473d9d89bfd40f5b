import * as z from 'zod';
import { damaged } from '../../errors.ts';
import type { ArchivedFile, Catalogue, FileReference } from '../archive/ports.ts';
import { camelRow, count } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { accessQuery, accessRow } from './access-query.ts';
import { newestEvent } from './datasets.ts';
import { headerBytes, headerColumns, headerRow, headerSlice, sliceRow, wholeHeader } from './stored-header.ts';

/** The catalogue in Aurora PostgreSQL, with the table names of the neicnordic `sda` schema. */
export function rdsCatalogue(db: SqlExecutor): Catalogue {
  return {
    async evaluateAccess(granted, wanted) {
      const id = wanted && ('fileId' in wanted ? wanted.fileId : wanted.datasetId);
      const parameters = { granted: { json: granted }, ...(id !== undefined && { id }) };
      const rows = await db.query(accessRow, accessQuery(wanted), parameters);
      return {
        known: rows.some((row) => row.known),
        granted: rows.some((row) => row.granted),
        entitled: rows.flatMap(({ datasetId, namedBy }) =>
          datasetId !== null && namedBy !== null ? [{ datasetId, namedBy }] : [],
        ),
      };
    },

    async isReleased(datasetId) {
      const [row] = await db.query(
        z.object({ released: z.boolean() }),
        `select coalesce(${newestEvent} = 'released', false) as released from sda.datasets d where d.stable_id = :id`,
        { id: datasetId },
      );
      return row?.released ?? false;
    },

    async findReleasedFile(reference) {
      // One query, so that a dataset cannot be withdrawn between two.
      const [row] = await db.query(
        z.looseObject({}),
        `select ${archivedColumns}
         from sda.files f
         join sda.file_dataset fd on fd.file_id = f.id
         join sda.datasets d on d.id = fd.dataset_id
         where f.stable_id = :file and d.stable_id = :dataset and ${newestEvent} = 'released'`,
        { file: reference.fileId, dataset: reference.datasetId },
      );
      return row && archivedFile(db, reference, row);
    },

    async hasMoreFiles(datasetId, count) {
      const rows = await db.query(
        z.object({ one: z.number() }),
        `select 1 as one
         from sda.file_dataset fd
         where fd.dataset_id = (select d.id from sda.datasets d where d.stable_id = :id)
         order by fd.file_id
         offset :count limit 1`,
        { id: datasetId, count },
      );
      return rows.length > 0;
    },
  };
}

/** Of the file `f`: what serving it takes. */
export const archivedColumns = `f.submission_file_path, f.archive_file_path, f.archive_file_size, f.archive_location, f.key_hash,
         ${headerColumns}`;

const fileRow = camelRow({
  submission_file_path: z.string(),
  archive_file_path: z.string().nullable(),
  archive_file_size: count.nullable(),
  archive_location: z.string().nullable(),
  key_hash: z.string().nullable(),
});

/** @param columns those of {@link archivedColumns} */
export async function archivedFile(
  db: SqlExecutor,
  { fileId, datasetId }: FileReference,
  columns: unknown,
): Promise<ArchivedFile> {
  const { archiveFilePath, archiveFileSize, archiveLocation, keyHash, ...path } = fileRow.parse(columns);
  const header = headerRow.parse(columns);
  if (!archiveFilePath || archiveFileSize === null || !header.header) {
    throw damaged(`the catalogue has no body, no size or no header for file ${fileId}`);
  }
  const hex = await wholeHeader(fileId, header, async (start) => {
    const [row] = await db.query(
      sliceRow,
      `select substring(f.header from cast(:start as integer) for ${headerSlice}) as header from sda.files f
       where f.stable_id = :file`,
      { start, file: fileId },
    );
    return row?.header ?? '';
  });
  return {
    ...{ fileId, datasetId, ...path, archiveFilePath, archiveFileSize },
    archiveLocation: archiveLocation || undefined,
    header: headerBytes(hex, fileId),
    keyHash: keyHash || undefined,
  };
}
