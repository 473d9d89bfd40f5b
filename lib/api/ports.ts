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

/** The queue `export-requests`. */
export interface ExportRequests {
  /** Resolves only when the queue has taken the message. @throws TemporarilyUnavailableError when it has not. */
  publish(request: {
    readonly requestId: string;
    /** Now: decides which of two exports of one file to one recipient stays. */
    readonly requestedAt: Date;
    readonly archiveKind: string;
    readonly message: ExportRequestMessage;
  }): Promise<void>;
}
