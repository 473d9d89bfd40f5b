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
      const [found] = await findReleasedFiles(db, [reference]);
      if (found?.status === 'rejected') throw found.reason;
      return found?.value;
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

/**
 * One query for the files, their membership and the release, so that a dataset cannot be withdrawn between two queries.
 * The rest of a large header is read by separate queries, one file after the other. A file that is released, but contradicts
 * the catalogue as {@link archivedFile} says, is rejected alone.
 *
 * @param along common table expressions of the same query, and their parameters
 */
export async function findReleasedFiles(
  db: SqlExecutor,
  references: readonly FileReference[],
  along?: { readonly sql: string; readonly parameters: Readonly<Record<string, { readonly json: unknown }>> },
): Promise<readonly PromiseSettledResult<ArchivedFile | undefined>[]> {
  const wanted = references.map(({ fileId, datasetId }, position) => ({ position, file: fileId, dataset: datasetId }));
  const rows = await db.query(
    z.looseObject({ position: z.number() }),
    `${along ? `with ${along.sql}` : ''}
     select w.position, ${archivedColumns}
     from jsonb_to_recordset(cast(:wanted as jsonb)) as w (position integer, file text, dataset text)
     join sda.files f on f.stable_id = w.file
     join sda.file_dataset fd on fd.file_id = f.id
     join sda.datasets d on d.id = fd.dataset_id
     where d.stable_id = w.dataset and ${newestEvent} = 'released'`,
    { wanted: { json: wanted }, ...along?.parameters },
  );
  const found: PromiseSettledResult<ArchivedFile | undefined>[] = [];
  for (const [position, reference] of references.entries()) {
    const row = rows.find((candidate) => candidate.position === position);
    found.push(...(await Promise.allSettled([row && archivedFile(db, reference, row)])));
  }
  return found;
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
