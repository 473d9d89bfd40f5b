import * as z from 'zod';
import { ArchiveDamagedError } from '../../errors.ts';
import type { AccessResult, ArchivedFile, FileReference, RequestedData } from '../archive/ports.ts';
import type { Attempt, ExportableFile, ExportablePage, ExportCatalogue } from '../export/ports.ts';
import { count, pageSize } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { accessQuery, accessRow } from './access-query.ts';
import { datasetNamed, isIngested, newestEvent, nextMembers, rowId } from './datasets.ts';
import { headerBytes, headerColumns, headerRow, headerSlice, sliceRow, wholeHeader } from './stored-header.ts';

const exportableRow = z.object({
  id: z.string(),
  stable_id: z.string().nullable(),
  archive_file_size: count.nullable(),
  is_ingested: z.boolean(),
});

const fileRow = headerRow.extend({
  submission_file_path: z.string(),
  archive_file_path: z.string().nullable(),
  archive_file_size: count.nullable(),
  archive_location: z.string().nullable(),
  key_hash: z.string().nullable(),
});

/** Of the file `f`: what serving it takes. */
export const archivedColumns = `f.submission_file_path, f.archive_file_path, f.archive_file_size, f.archive_location, f.key_hash,
         ${headerColumns}`;

/** What is recorded of attempts by the query that finds their files. */
export interface NoteAttempts {
  /** Common table expressions, which take the parameter `attempts`. */
  readonly sql: string;
  /** The value of the parameter. */
  readonly rows: (attempts: readonly Attempt[]) => { readonly json: unknown };
}

/** The catalogue in Aurora PostgreSQL, with the table names of the neicnordic `sda` schema. */
export class RdsCatalogue implements ExportCatalogue {
  readonly #db: SqlExecutor;
  readonly #note: NoteAttempts | undefined;

  /** @param note notes the attempts of `findReleasedFiles`, which takes it */
  constructor(db: SqlExecutor, note?: NoteAttempts) {
    this.#db = db;
    this.#note = note;
  }

  async evaluateAccess(granted: readonly string[], wanted?: RequestedData): Promise<AccessResult> {
    const rows = await this.#db.query(accessRow, accessQuery(wanted), {
      granted: { json: granted },
      ...(wanted && { id: 'fileId' in wanted ? wanted.fileId : wanted.datasetId }),
    });
    return {
      known: rows.some((row) => row.known),
      granted: rows.some((row) => row.granted),
      entitled: rows.flatMap(({ stable_id: datasetId, named_by: namedBy }) =>
        datasetId !== null && namedBy !== null ? [{ datasetId, namedBy }] : [],
      ),
    };
  }

  async isReleased(datasetId: string): Promise<boolean> {
    const rows = await this.#db.query(
      z.object({ released: z.boolean() }),
      `select coalesce(${newestEvent} = 'released', false) as released from sda.datasets d where d.stable_id = :id`,
      { id: datasetId },
    );
    return rows[0]?.released ?? false;
  }

  async *exportableFiles(datasetId: string, from: string): AsyncGenerator<ExportablePage> {
    for (let after = from; ; ) {
      const rows = await this.#db.query(
        exportableRow,
        `select cast(f.id as text) as id, f.stable_id, f.archive_file_size, ${isIngested} as is_ingested
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
  }

  /** Whether the dataset has more than `count` files, those included that ingestion has not finished. */
  async hasMoreFiles(datasetId: string, count: number): Promise<boolean> {
    const rows = await this.#db.query(
      z.object({ one: z.number() }),
      `select 1 as one
       from sda.file_dataset fd
       where fd.dataset_id = (select d.id from sda.datasets d where d.stable_id = :id)
       order by fd.file_id
       offset :count limit 1`,
      { id: datasetId, count },
    );
    return rows.length > 0;
  }

  async exportableFile(fileId: string): Promise<ExportablePage | undefined> {
    const [row] = await this.#db.query(
      exportableRow,
      `select cast(f.id as text) as id, f.stable_id, f.archive_file_size, true as is_ingested
       from sda.files f where f.stable_id = :file`,
      { file: fileId },
    );
    return row && { files: exportableFile(row), end: row.id };
  }

  /**
   * @throws ArchiveDamagedError when the file is released, but has no body, no size, no header, one over
   *   `limits.headerBytes` or one that is not hex.
   */
  async findReleasedFile(reference: FileReference): Promise<ArchivedFile | undefined> {
    const [found] = await this.#find([reference]);
    if (found?.status === 'rejected') throw found.reason;
    return found?.value;
  }

  findReleasedFiles(attempts: readonly Attempt[]): Promise<readonly PromiseSettledResult<ArchivedFile | undefined>[]> {
    return this.#find(attempts, attempts);
  }

  /**
   * One query for the files, their membership and the release, so that a dataset cannot be withdrawn between two queries.
   * The rest of a large header is read by queries of its own, one file after the other.
   */
  async #find(
    references: readonly FileReference[],
    attempts?: readonly Attempt[],
  ): Promise<readonly PromiseSettledResult<ArchivedFile | undefined>[]> {
    if (attempts && !this.#note)
      throw new TypeError('a catalogue that notes no attempts cannot be asked with attempts');
    const rows = await this.#db.query(
      z.looseObject({ position: z.number() }),
      `${attempts ? `with ${this.#note?.sql}` : ''}
       select w.position, ${archivedColumns}
       from jsonb_to_recordset(cast(:wanted as jsonb)) as w (position integer, file text, dataset text)
       join sda.files f on f.stable_id = w.file
       join sda.file_dataset fd on fd.file_id = f.id
       join sda.datasets d on d.id = fd.dataset_id
       where d.stable_id = w.dataset and ${newestEvent} = 'released'`,
      {
        wanted: {
          json: references.map(({ fileId, datasetId }, position) => ({ position, file: fileId, dataset: datasetId })),
        },
        ...(attempts && this.#note && { attempts: this.#note.rows(attempts) }),
      },
    );
    const found: PromiseSettledResult<ArchivedFile | undefined>[] = [];
    for (const [position, reference] of references.entries()) {
      const row = rows.find((candidate) => candidate.position === position);
      found.push(...(await Promise.allSettled([row && this.archivedFile(reference, row)])));
    }
    return found;
  }

  /** @param columns those of {@link archivedColumns} */
  protected async archivedFile({ fileId, datasetId }: FileReference, columns: unknown): Promise<ArchivedFile> {
    const row = fileRow.parse(columns);
    if (!row.archive_file_path || row.archive_file_size === null || !row.header) {
      throw new ArchiveDamagedError(`the catalogue has no body, no size or no header for file ${fileId}`);
    }
    const hex = await wholeHeader(fileId, row, (start) => this.#headerFrom(fileId, start));
    return {
      fileId,
      datasetId,
      submissionFilePath: row.submission_file_path,
      archiveFilePath: row.archive_file_path,
      archiveFileSize: row.archive_file_size,
      archiveLocation: row.archive_location || undefined,
      header: headerBytes(hex, fileId),
      keyHash: row.key_hash || undefined,
    };
  }

  async #headerFrom(fileId: string, start: number): Promise<string> {
    const [row] = await this.#db.query(
      sliceRow,
      `select substring(f.header from cast(:start as integer) for ${headerSlice}) as header from sda.files f
       where f.stable_id = :file`,
      { start, file: fileId },
    );
    return row?.header ?? '';
  }
}

function exportableFile(row: z.infer<typeof exportableRow>): ExportableFile[] {
  const { stable_id: fileId, archive_file_size: size, is_ingested: isIngested } = row;
  return fileId !== null && isIngested ? [{ fileId, archiveFileSize: size ?? undefined }] : [];
}
