import type { Connection } from '../contract/connection.ts';
import type { ExportLog } from '../export/ports.ts';
import type { OutboxRecords, RemovableOutbox } from '../export/withdraw/ports.ts';
import type { DamagedHeader, KeyUse, StoredHeader } from '../stores/rds/archive/headers.ts';
import type { InventoryDataset, InventoryFile, ListedFile } from '../stores/rds/archive/inventory.ts';
import type { ListedUser } from '../stores/rds/archive/users.ts';
import type {
  ArchiveRegistration,
  DatasetEvent,
  Registered,
  Removal,
  RemovalOutcome,
} from '../stores/rds/archive/writer.ts';
import type { AuditFilter, AuditRow } from '../stores/rds/audit/trail.ts';
import type { RdsLastFailures } from '../stores/rds/exports/last-failures.ts';
import type { SqsDeadLetters } from '../stores/sqs/dead-letters.ts';

import type { IdentifierPatterns } from './archive/identifiers.ts';

export type { DeadLetter, HeldLetter } from '../stores/sqs/dead-letters.ts';

/** Write access to archived bodies. */
export interface ArchiveBodies {
  /** Location of the bodies, for the catalogue: `<endpoint>/<bucket>`. */
  readonly location: string;
  /**
   * Store all bytes of `source` under `key`, in constant memory. When the source fails, nothing becomes visible, and
   * the parts that were sent are dropped. `expectedSize`, in bytes, sets the size of the parts. Above 78 GiB it is
   * needed, and a guess that is too low fails.
   */
  upload(
    key: string,
    source: AsyncIterable<Uint8Array>,
    options: { readonly expectedSize?: number },
  ): Promise<{ readonly size: number }>;
  /** Whether the location of a catalogue row names the bucket of these bodies. @param location `undefined`: it does */
  holds(location: string | undefined): boolean;
  /** Remove a body that no catalogue row names. Removing what is not there is no error. */
  remove(key: string): Promise<void>;
}

/** The catalogue as the tool reads and writes it. Every method may throw TemporarilyUnavailableError. */
export interface ArchiveCatalogue {
  findFile(fileId: string): Promise<InventoryFile | undefined>;
  /**
   * Enter a file, its checksums and its dataset, all or nothing. A new dataset is made. A second call changes nothing.
   * @throws FileIdTakenError when the file id has another body
   */
  registerFile(file: ArchiveRegistration): Promise<Registered>;
  /** Put a known file into one more dataset. A new dataset is made. A second call changes nothing. */
  addToDataset(fileId: string, datasetId: string): Promise<void>;
  /** All files, or those of one dataset, in the order of their ids. */
  files(datasetId?: string): AsyncIterable<ListedFile>;
  /**
   * Take a file out of the catalogue, or out of one dataset, with an audit row. A second call changes nothing.
   * @returns `undefined`: there is no such file, or a dataset that it would leave is released
   * @throws FileReferredToError
   */
  removeFile(removal: Removal): Promise<RemovalOutcome | undefined>;
  findDataset(datasetId: string): Promise<InventoryDataset | undefined>;
  /** All datasets, in the order of their ids. */
  datasets(): AsyncIterable<InventoryDataset>;
  /** Make `event` the newest of the dataset. @throws NotFoundError for an unknown dataset. */
  appendDatasetEvent(datasetId: string, event: DatasetEvent): Promise<void>;
}

/** The stored headers of all files, for a change of the archive's key. Every method may throw TemporarilyUnavailableError. */
export interface ArchiveHeaders {
  /** For which keys the files have their headers. */
  keyUses(): Promise<readonly KeyUse[]>;
  /** All headers but those for the keys `except`, which are lower-case hashes. */
  stored(except?: readonly string[]): AsyncIterable<StoredHeader | DamagedHeader>;
  /** Put `header` in place of `stored`, unless that has changed. @returns whether the file has the new header */
  replace(stored: StoredHeader, header: Uint8Array, keyHash: string): Promise<boolean>;
}

/** The central archive's users, who may list and stream. */
export interface ArchiveUsers {
  /** The user; `undefined` for an unknown or disabled one. */
  find(username: string): Promise<{ readonly username: string } | undefined>;
  /** All users, disabled ones, too, in the order of their names. */
  list(): AsyncIterable<ListedUser>;
  /** Add a user, give a user another password, or enable a disabled one. `passwordHash` in PHC form. */
  save(username: string, passwordHash: string): Promise<void>;
  disable(username: string): Promise<void>;
}

/** The outcomes of export requests. */
export interface AuditTrail {
  /** At most `limit` rows, newest first. */
  newest(filter: AuditFilter, limit: number): AsyncIterable<AuditRow>;
}

/** What the tables have of one person. Every method may throw TemporarilyUnavailableError. */
export interface Erasure {
  /** How many requests for the person are not closed. @param recipient outbox prefix */
  openRequests(recipient: string): Promise<number>;
  /** Take the person out of all rows, and record that under `erasureId`, a UUID. @returns how many rows were changed */
  erase(recipient: string, erasureId: string): Promise<number>;
}

/** A secret that holds JSON. */
export interface EditableSecret {
  /** The parsed value; `undefined` for a secret without one. */
  read(): Promise<unknown>;
  /** Put `value` in place of the one that was read last. @throws SecretChangedError when another process has changed it since */
  write(value: unknown): Promise<void>;
}

/** Messages of one work queue that failed for good. */
export type DeadLetterQueue = Pick<SqsDeadLetters, 'name' | 'count' | 'take' | 'release'>;

/** One deployment: everything that the tool reads and changes, and its name for people. */
export interface Target {
  /** Its name: `local engine http://…`, `stacks … in eu-north-1`. */
  readonly description: string;
  /** The local engine's connection file; `undefined` for a deployed stack. */
  readonly connection: Connection | undefined;
  /** What stable ids look like here. */
  readonly identifiers: IdentifierPatterns;
  readonly bodies: ArchiveBodies;
  readonly catalogue: ArchiveCatalogue;
  readonly archiveHeaders: ArchiveHeaders;
  readonly archiveUsers: ArchiveUsers;
  readonly audit: AuditTrail;
  readonly outbox: RemovableOutbox;
  readonly outboxRecords: OutboxRecords;
  readonly erasure: Erasure;
  /** Writes the audit trail. */
  readonly exportLog: ExportLog;
  /** Those of all work queues. */
  readonly deadLetters: readonly DeadLetterQueue[];
  /** Why requests and files failed last. */
  readonly failures: Pick<RdsLastFailures, 'of'>;
  readonly administrators: EditableSecret;
  readonly archiveKeys: EditableSecret;
  readonly visaDenyList: EditableSecret;
}
