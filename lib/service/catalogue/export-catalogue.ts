import * as z from 'zod';
import type { Attempt, ExportableFile, ExportCatalogue } from '../export/ports.ts';
import { camelRow, count, optional, pageSize } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { findReleasedFiles, rdsCatalogue } from './catalogue.ts';
import { datasetNamed, isIngested, nextMembers, rowId } from './datasets.ts';

const exportableRow = camelRow({
  id: z.string(),
  /** Absent for a file that ingestion has not finished, or not named. */
  file_id: optional(z.string()),
  archive_file_size: optional(count),
});

/** What is recorded of attempts by the query that finds their files. */
export interface NoteAttempts {
  /** Common table expressions, which take the parameter `attempts`. */
  readonly sql: string;
  /** The value of the parameter. */
  readonly rows: (attempts: readonly Attempt[]) => { readonly json: unknown };
}

/** The queries of the export on the catalogue. @param note notes the attempts of `findReleasedFiles` */
export function exportCatalogue(db: SqlExecutor, note: NoteAttempts): ExportCatalogue {
  return {
    ...rdsCatalogue(db),

    async *exportableFiles(datasetId, from) {
      for (let after = from; ; ) {
        const rows = await db.query(
          exportableRow,
          `select cast(f.id as text) as id, case when ${isIngested} then f.stable_id end as file_id, f.archive_file_size
           from ${nextMembers(datasetNamed(':id'), rowId(':after'))} page
           join sda.files f on f.id = page.file_id
           order by f.id`,
          { id: datasetId, after },
        );
        const last = rows.at(-1);
        if (!last) return;
        yield { files: rows.flatMap(exportableFile), end: last.id };
        if (rows.length < pageSize) return;
        after = last.id;
      }
    },

    async exportableFile(fileId) {
      const [row] = await db.query(
        exportableRow,
        `select cast(f.id as text) as id, f.stable_id as file_id, f.archive_file_size
         from sda.files f where f.stable_id = :file`,
        { file: fileId },
      );
      return row && { files: exportableFile(row), end: row.id };
    },

    findReleasedFiles: (attempts) =>
      findReleasedFiles(db, attempts, { sql: note.sql, parameters: { attempts: note.rows(attempts) } }),
  };
}

function exportableFile({ fileId, archiveFileSize }: z.infer<typeof exportableRow>): ExportableFile[] {
  return fileId === undefined ? [] : [{ fileId, archiveFileSize }];
}
