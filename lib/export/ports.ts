import type { Archive, BodyAddress, Catalogue } from '../archive/ports.ts';
import type { FileExportMessage } from '../contract/messages.ts';

/** The catalogue, with what the export alone asks. Every method may throw TemporarilyUnavailableError. */
export interface ExportCatalogue extends Catalogue {
  /** Stable ids of the dataset's files in keyset order, page after page; memory is bounded by one page. */
  fileIdsOfDataset(datasetId: string): AsyncIterable<readonly string[]>;
}

/** The archived bodies, with the read that the export alone makes. */
export interface ExportArchive extends Archive {
  /**
   * `header` and the whole body in one piece, by one request. `size` is the body's by the catalogue, at most 8 MiB. The
   * memory is the caller's.
   *
   * @throws ArchiveDamagedError when the body is missing or has another size; ArchiveLocationUnknownError
   */
  readWhole(address: BodyAddress, size: number, header: Uint8Array): Promise<Uint8Array>;
}

/** The queue `file-exports`. */
export interface FileExports {
  /** Send all messages, in batches; resolves only when the queue has taken every one. */
  send(messages: readonly FileExportMessage[]): Promise<void>;
}

/** One row of the audit table `data_out.export_log`. */
export interface ExportEvent {
  readonly requestId: string;
  readonly event: 'accepted' | 'rejected' | 'staged';
  /** Reason code, for `rejected`. */
  readonly reason?: string;
  readonly archiveKind?: string;
  readonly datasetId?: string;
  readonly fileId?: string;
  /** Outbox prefix. */
  readonly recipient?: string;
  /** Fingerprint of the recipient's public key. */
  readonly keyFingerprint?: string;
  /** Container size, for `staged`. */
  readonly bytes?: number;
}

/** The audit trail. Recording the same event of the same request and file twice leaves one row. */
export interface ExportLog {
  record(event: ExportEvent): Promise<void>;
}
