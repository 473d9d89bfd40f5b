import type { SignedUrl } from '../archive/ports.ts';

/** A user of the central archive, who may list and stream. */
export interface ArchiveUser {
  readonly username: string;
  /** Scrypt in PHC form, or bcrypt as the central archive hands it out. */
  readonly passwordHash: string;
}

/** Table `data_out.archive_users`. */
export interface ArchiveUsers {
  find(username: string): Promise<ArchiveUser | undefined>;
}

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
