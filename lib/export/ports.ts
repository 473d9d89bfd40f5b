import type { Archive, ArchivedFile, BodyAddress, Catalogue, FileReference } from '../archive/ports.ts';
import type { FileExportMessage } from '../contract/messages.ts';

/** The catalogue, with what the export alone asks. Every method may throw TemporarilyUnavailableError. */
export interface ExportCatalogue extends Catalogue {
  /**
   * The dataset's files that ingestion has finished, in the order of their stable ids, page after page; memory is bounded
   * by one page.
   *
   * @param after stable id; the pages begin with the next one. Empty: with the first
   */
  exportableFiles(datasetId: string, after: string): AsyncIterable<readonly ExportableFile[]>;
  /** Bytes of a file's archived body; `undefined` when the catalogue does not say. */
  archiveFileSize(fileId: string): Promise<number | undefined>;
  /**
   * The files by one query, as `findReleasedFile` finds each. A file that contradicts the catalogue is rejected with an
   * ArchiveDamagedError, by itself.
   *
   * @param references at most ten, so that the answer stays below the Data API's 1 MiB
   */
  findReleasedFiles(
    references: readonly FileReference[],
  ): Promise<readonly PromiseSettledResult<ArchivedFile | undefined>[]>;
}

export interface ExportableFile {
  /** Stable id, `EGAF…`. */
  readonly fileId: string;
  /** Bytes of the archived body; `undefined` when the catalogue does not say. */
  readonly archiveFileSize: number | undefined;
}

/** How far the fan-out of a request has come. */
export interface FanOutProgress {
  /** Highest stable id whose message was sent. */
  readonly sentTo: string;
  /** Messages sent. */
  readonly files: number;
}

/** Remembers how far fan-outs have come. Every method may throw TemporarilyUnavailableError. */
export interface FanOuts {
  /** @returns `undefined` for a fan-out that has sent nothing yet */
  progressOf(requestId: string, datasetId: string): Promise<FanOutProgress | undefined>;
  /** Progress that is behind what is saved changes nothing. */
  save(requestId: string, datasetId: string, progress: FanOutProgress): Promise<void>;
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

/** One of the two queues of file exports. */
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
  /** All rows are written, or none. */
  record(...events: readonly ExportEvent[]): Promise<void>;
}
