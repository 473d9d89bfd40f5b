import type { FileReference, SignedUrl } from '../archive/ports.ts';
import type { FileDescription } from '../contract/describe-file.ts';
import type { ExportedFile, ExportState, ListedExport, ShownExport } from '../contract/export-state.ts';
import type { ExportRequestMessage } from '../contract/messages.ts';
import type { Administrator, ArchiveUser } from '../contract/users.ts';

/** The administrators' secret. May throw TemporarilyUnavailableError. */
export interface Administrators {
  find(username: string): Promise<Administrator | undefined>;
}

/** Table `data_out.archive_users`. May throw TemporarilyUnavailableError. */
export interface ArchiveUsers {
  find(username: string): Promise<ArchiveUser | undefined>;
}

/** An accepted call to the export endpoint. */
export interface ExportRequest {
  /** UUID. */
  readonly requestId: string;
  /** Now: decides which of two exports of one file to one recipient stays. */
  readonly requestedAt: Date;
  readonly archiveKind: string;
  readonly message: ExportRequestMessage;
}

/** The queue `export-requests`. */
export interface ExportRequests {
  /** Resolves only when the queue has taken the message. @throws TemporarilyUnavailableError when it has not. */
  publish(request: ExportRequest): Promise<void>;
}

/** Which export requests; both conditions together. @default - all */
export interface ExportFilter {
  readonly state?: ExportState | undefined;
  /** Requested at this time or later. */
  readonly since?: Date | undefined;
}

/** What became of export requests. A request has a record from its consumption on. May throw TemporarilyUnavailableError. */
export interface ExportRecords {
  find(archiveKind: string, requestId: string): Promise<ShownExport | undefined>;
  /** Files of a request in the order of their ids. `page` counts from 0. */
  files(requestId: string, page: number): Promise<readonly ExportedFile[]>;
  /** Whether an earlier version, which kept no records, has consumed the request. */
  isInAuditTrail(archiveKind: string, requestId: string): Promise<boolean>;
  /** Newest first. `page` counts from 0. */
  newest(archiveKind: string, filter: ExportFilter, page: number): Promise<readonly ListedExport[]>;
}

/** A staged container as the listing shows it. */
export interface StagedFile {
  readonly name: string;
  readonly size: number;
  readonly lastModified: Date;
  readonly etag: string;
}

/** Read access to one recipient's part of the outbox. */
export interface OutboxReader {
  /**
   * Staged containers in name order, one S3 page (≤ 1,000) at a time.
   *
   * @param after only names behind this one, which need not exist. Default: all
   */
  list(prefix: string, after?: string): AsyncIterable<readonly StagedFile[]>;
  find(prefix: string, name: string): Promise<StagedFile | undefined>;
  presign(prefix: string, name: string): Promise<SignedUrl>;
}

/** Facts about files that only their headers tell. Opening those takes the archive's keys. */
export interface FileDescriptions {
  /**
   * Describe a file that the caller may have. The release is checked once more.
   *
   * @throws ForbiddenError when its dataset was withdrawn meanwhile; ArchiveDamagedError, TemporarilyUnavailableError
   */
  describe(reference: FileReference): Promise<FileDescription>;
}
