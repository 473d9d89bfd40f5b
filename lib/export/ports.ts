import type { Catalogue } from '../archive/ports.ts';
import type { FileExportMessage } from '../contract/messages.ts';

/** The catalogue, with what the export alone asks. Every method may throw TemporarilyUnavailableError. */
export interface ExportCatalogue extends Catalogue {
  /** Stable ids of the dataset's files in keyset order, page after page; memory is bounded by one page. */
  fileIdsOfDataset(datasetId: string): AsyncIterable<readonly string[]>;
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
