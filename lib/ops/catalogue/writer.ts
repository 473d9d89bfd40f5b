import * as z from 'zod';
import { DataOutError } from '../../errors.ts';
import { newestEvent, newestEventFirst } from '../../service/catalogue/datasets.ts';
import { isSqlError } from '../../service/stores/aws-failure.ts';
import { idRow, snakeCase } from '../../service/stores/rds/columns.ts';
import type { SqlParameters } from '../../service/stores/rds/data-api.ts';
import { RdsArchiveInventory } from './inventory.ts';

/** The catalogue's facts about a file whose body is already in the archive bucket. Sizes in bytes. */
export interface ArchiveRegistration {
  /** Stable id, `EGAF…`. */
  readonly fileId: string;
  /** Stable id, `EGAD…`; the dataset is made when it is new, and is not released by this. */
  readonly datasetId: string;
  readonly submissionFilePath: string;
  /** @default - unknown */
  readonly submissionFileSize?: number;
  /** Key of the body in its bucket. */
  readonly archiveFilePath: string;
  /** Names the bucket: `<endpoint>/<bucket>`, as an ingestion pipeline writes it. */
  readonly archiveLocation: string;
  /** The body alone, without the header. */
  readonly archiveFileSize: number;
  readonly decryptedFileSize: number;
  /** The whole Crypt4GH header, for the archive's key. */
  readonly header: Uint8Array;
  /** Lower-case hex of the archive's public key. */
  readonly keyHash: string;
  /** Of the file as submitted, of the body as archived, or of the plaintext; in lower-case hex. */
  readonly checksums: readonly {
    readonly source: 'UPLOADED' | 'ARCHIVED' | 'UNENCRYPTED';
    readonly type: 'MD5' | 'SHA256' | 'SHA384' | 'SHA512';
    readonly checksum: string;
  }[];
}

/** A file to take out of the catalogue, or out of one dataset. */
export interface Removal {
  /** UUID of the removal in the audit trail. The same one again changes nothing. */
  readonly removalId: string;
  readonly fileId: string;
  /** A file that is also in another dataset only leaves this one. @default - the file leaves all its datasets */
  readonly datasetId?: string;
}

const removalOutcomes = ['removed', 'held_elsewhere', 'body_shared'] as const;

/**
 * `removed`: the file is out of the catalogue, and its body can go. `held_elsewhere`: it has left the dataset, and another
 * dataset holds it. `body_shared`: it is out of the catalogue, but another file has the same body.
 */
export type RemovalOutcome = (typeof removalOutcomes)[number];

/** States that a dataset can be put into. */
export type DatasetEvent = 'released' | 'deprecated';

/** The catalogue has what stands against a change. The message says what to do about it. */
export class CatalogueConflictError extends Error {
  override readonly name = 'CatalogueConflictError';
  readonly code = 'conflict';
}

/** Puts the file of the query `file` into the dataset `:dataset_id`, which is made and registered when it is new. */
const intoDataset = `dataset as (
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
       )`;

/** The operator's side of the catalogue: also fills it, the way an ingestion pipeline would. */
export class RdsArchiveWriter extends RdsArchiveInventory {
  /**
   * Put a file into a dataset, in one statement, so that it is added as a whole or not at all. The same registration
   * again (same stable id, same body) replaces the first and leaves one row.
   * @throws CatalogueConflictError when the stable id has another body; nothing is changed.
   */
  async registerFile({ header, checksums, ...facts }: ArchiveRegistration): Promise<void> {
    const [entered] = await this.db.query(
      idRow,
      // The other parts select from "file", which is empty when its stable id has another body.
      `with file as (
         insert into sda.files (stable_id, submission_file_path, submission_file_size, archive_file_path,
           archive_location, archive_file_size, decrypted_file_size, header, encryption_method, key_hash)
         values (:file_id, :submission_file_path, cast(:submission_file_size as bigint), :archive_file_path,
           :archive_location, cast(:archive_file_size as bigint), cast(:decrypted_file_size as bigint), :header,
           'CRYPT4GH', :key_hash)
         on conflict (stable_id) do update set
           submission_file_path = excluded.submission_file_path,
           submission_file_size = excluded.submission_file_size,
           archive_file_path = excluded.archive_file_path,
           archive_location = excluded.archive_location,
           archive_file_size = excluded.archive_file_size,
           decrypted_file_size = excluded.decrypted_file_size,
           header = excluded.header,
           encryption_method = excluded.encryption_method,
           key_hash = excluded.key_hash
         where files.archive_file_path = excluded.archive_file_path
         returning id
       ), key as (
         insert into sda.encryption_keys (key_hash, description) select :key_hash, 'archive key' from file
         on conflict (key_hash) do nothing
       ), ${intoDataset}, given as (
         select c.checksum, cast(c.type as sda.checksum_algorithm) as type, cast(c.source as sda.checksum_source) as source
         from jsonb_to_recordset(cast(:checksums as jsonb)) as c (checksum text, type text, source text)
       ), summed as (
         insert into sda.checksums (file_id, checksum, type, source)
         select file.id, given.checksum, given.type, given.source from file, given
         on conflict (file_id, type, source) do update set checksum = excluded.checksum
       )
       select cast(id as text) as stable_id
       from file`,
      {
        ...(snakeCase({ submissionFileSize: null, ...facts }) as SqlParameters),
        header: Buffer.from(header).toString('hex'),
        checksums: { json: checksums },
      },
    );
    if (!entered) throw new CatalogueConflictError(`file id ${facts.fileId} is taken by a file with another body`);
  }

  /**
   * Put a file of the catalogue into one more dataset, which is made when it is new. Doing it twice changes nothing.
   * @throws `not_found` when the catalogue has no such file; then no dataset is made
   */
  async addToDataset(fileId: string, datasetId: string): Promise<void> {
    const found = await this.db.query(
      idRow,
      `with file as (
         select id, stable_id from sda.files where stable_id = :file_id
       ), ${intoDataset}
       select stable_id from file`,
      { file_id: fileId, dataset_id: datasetId },
    );
    if (found.length === 0) throw new DataOutError('not_found', `the catalogue has no file ${fileId}`);
  }

  /**
   * Take a file, its checksums and its places in datasets out of the catalogue, in one statement with the audit row
   * `removed`. While a dataset that it would leave is released, nothing is changed.
   * @returns `undefined`: there is no such file, or it is released
   * @throws CatalogueConflictError when tables of an ingestion pipeline refer to the file; nothing is changed.
   */
  async removeFile({ removalId, fileId, datasetId }: Removal): Promise<RemovalOutcome | undefined> {
    const found = await this.db
      .query(
        z.object({ outcome: z.enum(removalOutcomes) }),
        `with file as materialized (
           select f.id, f.archive_file_size, case
             when exists (
               select 1 from sda.file_dataset m join sda.datasets d on d.id = m.dataset_id
               where m.file_id = f.id and d.stable_id <> cast(:dataset_id as text)) then 'held_elsewhere'
             when exists (
               select 1 from sda.files o where o.archive_file_path = f.archive_file_path and o.id <> f.id) then 'body_shared'
             else 'removed' end as outcome
           from sda.files f
           where f.stable_id = :file_id
             and (cast(:dataset_id as text) is null or exists (
               select 1 from sda.file_dataset m join sda.datasets d on d.id = m.dataset_id
               where m.file_id = f.id and d.stable_id = :dataset_id))
             and not exists (
               select 1 from sda.file_dataset m join sda.datasets d on d.id = m.dataset_id
               where m.file_id = f.id and (cast(:dataset_id as text) is null or d.stable_id = :dataset_id)
                 and ${newestEvent} = 'released')
           for update of f
         ), memberships as (
           delete from sda.file_dataset m using file
           where m.file_id = file.id
             and (file.outcome <> 'held_elsewhere' or m.dataset_id = (select d.id from sda.datasets d where d.stable_id = :dataset_id))
         ), sums as (
           delete from sda.checksums c using file where c.file_id = file.id and file.outcome <> 'held_elsewhere'
         ), removed as (
           delete from sda.files f using file where f.id = file.id and file.outcome <> 'held_elsewhere'
         ), logged as (
           insert into data_out.export_log (request_id, event, reason, dataset_id, file_id, bytes)
           select cast(:removal_id as uuid), 'removed', nullif(outcome, 'removed'), :dataset_id, :file_id,
             case when outcome = 'removed' then archive_file_size end
           from file
           on conflict do nothing
         )
         select outcome from file
         union all
         select coalesce(reason, 'removed') from data_out.export_log
         where request_id = cast(:removal_id as uuid) and event = 'removed' and file_id = :file_id`,
        { removal_id: removalId, file_id: fileId, dataset_id: datasetId ?? null },
      )
      .catch((cause: unknown) => {
        if (!isSqlError(cause, 'foreignKeyViolation')) throw cause;
        const message = `an ingestion pipeline keeps records of ${fileId}: remove the file with the pipeline`;
        throw new CatalogueConflictError(message, { cause });
      });
    return found[0]?.outcome;
  }

  /** Make `event` the newest of the dataset. Does nothing when it already is, or there is no such dataset. */
  async appendDatasetEvent(datasetId: string, event: DatasetEvent): Promise<void> {
    await this.db.execute(
      `with newest as (
         select e.event, e.event_date from sda.dataset_event_log e
         where e.dataset_id = :dataset_id
         ${newestEventFirst}
         limit 1
       )
       insert into sda.dataset_event_log (dataset_id, event, event_date)
       select stable_id, :event, greatest(clock_timestamp(), (select event_date from newest)) from sda.datasets
       where stable_id = :dataset_id and not exists (select 1 from newest where newest.event = :event)`,
      { dataset_id: datasetId, event },
    );
  }
}
