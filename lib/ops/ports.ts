import type { Connection } from '../contract/connection.ts';
import type { InventoryDataset, InventoryFile } from '../stores/rds/archive-inventory.ts';
import type { ArchiveRegistration, DatasetEvent } from '../stores/rds/archive-writer.ts';
import type { AuditFilter, AuditRow } from '../stores/rds/audit-trail.ts';

/** Write access to archived bodies. */
export interface ArchiveBodies {
  /** Where `upload` puts them, for the catalogue: `<endpoint>/<bucket>`. */
  readonly location: string;
  /**
   * Store all bytes of `source` under `key`, in constant memory. When the source fails, nothing becomes visible and
   * what was sent is dropped. `expectedSize` in bytes sets the size of the parts: it is needed above 78 GiB, and a guess
   * too low fails.
   */
  upload(
    key: string,
    source: AsyncIterable<Uint8Array>,
    options: { readonly expectedSize?: number },
  ): Promise<{ readonly size: number }>;
  /** Remove a body that no catalogue row names. Removing what is not there is no error. */
  remove(key: string): Promise<void>;
}

/** The catalogue as the tool reads and writes it. Every method may throw TemporarilyUnavailableError. */
export interface ArchiveCatalogue {
  findFile(fileId: string): Promise<InventoryFile | undefined>;
  /**
   * Enter a file, its checksums and its dataset (made when it is new), all or nothing; doing it twice changes nothing.
   * @throws FileIdTakenError when the file id has another body.
   */
  registerFile(file: ArchiveRegistration): Promise<void>;
  /** Put a known file into one more dataset (made when it is new). Doing it twice changes nothing. */
  addToDataset(fileId: string, datasetId: string): Promise<void>;
  findDataset(datasetId: string): Promise<InventoryDataset | undefined>;
  /** All datasets, in the order of their ids. */
  datasets(): AsyncIterable<InventoryDataset>;
  /** Make `event` the newest of the dataset. @throws NotFoundError for an unknown dataset. */
  appendDatasetEvent(datasetId: string, event: DatasetEvent): Promise<void>;
}

/** The central archive's users, who may list and stream. */
export interface ArchiveUsers {
  /** The user, unless there is none or the user was disabled. */
  find(username: string): Promise<{ readonly username: string } | undefined>;
  /** Add a user, give a user another password, or enable a disabled one. `passwordHash` in PHC form. */
  save(username: string, passwordHash: string): Promise<void>;
  disable(username: string): Promise<void>;
}

/** What became of export requests. */
export interface AuditTrail {
  /** At most `limit` rows, newest first. */
  newest(filter: AuditFilter, limit: number): AsyncIterable<AuditRow>;
}

/** A secret that holds JSON. */
export interface EditableSecret {
  /** The parsed value; `undefined` for a secret without one. */
  read(): Promise<unknown>;
  write(value: unknown): Promise<void>;
}

/** One deployment: everything the tool changes, and how to name it to people. */
export interface Target {
  /** For people: `local engine http://…`, `stacks … in eu-north-1`. */
  readonly description: string;
  /** The local engine's connection file; `undefined` for a deployed stack. */
  readonly connection: Connection | undefined;
  readonly bodies: ArchiveBodies;
  readonly catalogue: ArchiveCatalogue;
  readonly archiveUsers: ArchiveUsers;
  readonly audit: AuditTrail;
  readonly administrators: EditableSecret;
  readonly archiveKeys: EditableSecret;
  readonly visaDenyList: EditableSecret;
}
