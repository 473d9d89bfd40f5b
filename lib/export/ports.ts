import type { Archive, ArchivedFile, BodyAddress, Catalogue, FileReference, UploadedPart } from '../archive/ports.ts';
import type { OperatorEvent } from '../contract/events.ts';
import type { FileExportMessage } from '../contract/messages.ts';

/** The catalogue, with what the export alone asks. Every method may throw TemporarilyUnavailableError. */
export interface ExportCatalogue extends Catalogue {
  /**
   * The dataset's files that ingestion has finished, page after page in an order of the catalogue; memory is bounded by one
   * page. A page may have no file.
   *
   * @param after end of a page; the pages begin behind it. Empty: with the first
   */
  exportableFiles(datasetId: string, after: string): AsyncIterable<ExportablePage>;
  /** Whether the dataset has more than `count` files, those included that ingestion has not finished. */
  hasMoreFiles(datasetId: string, count: number): Promise<boolean>;
  /** The page of one file alone; `undefined` for an unknown one. */
  exportableFile(fileId: string): Promise<ExportablePage | undefined>;
  /**
   * The files by one query, as `findReleasedFile` finds each. A file that contradicts the catalogue is rejected with an
   * ArchiveDamagedError, by itself. The same query notes each attempt, and reopens a file that was given up when its
   * message comes from the dead letters.
   *
   * @param attempts at most ten, so that the answer stays below the Data API's 1 MiB
   */
  findReleasedFiles(attempts: readonly Attempt[]): Promise<readonly PromiseSettledResult<ArchivedFile | undefined>[]>;
}

export interface ExportableFile {
  /** Stable id, `EGAF…`. */
  readonly fileId: string;
  /** Bytes of the archived body; `undefined` when the catalogue does not say. */
  readonly archiveFileSize: number | undefined;
}

export interface ExportablePage {
  readonly files: readonly ExportableFile[];
  /** Position of the page's end in the order of the catalogue. A later page has a greater one. */
  readonly end: string;
}

/** An attempt to stage a file of a request. */
export interface Attempt extends FileReference {
  readonly requestId: string;
  /** Whether the message came for the first time, or anew from the dead letters. */
  readonly isFirst: boolean;
  /** Whether the queue puts the message aside when this attempt fails. */
  readonly isLast: boolean;
}

/** The archived bodies, with the read that the export alone makes. */
export interface ExportArchive extends Archive {
  /**
   * `header` and the whole body in one piece, by one request. `size` is the body's by the catalogue, at most 8 MiB. The
   * memory is the caller's. `bodyCrc` is the CRC-64/NVME that the archive keeps of the body, base64; absent when it keeps
   * none. A body that differs from it is not given out.
   *
   * @throws ArchiveDamagedError when the body is missing or has another size; ArchiveLocationUnknownError
   */
  readWhole(
    address: BodyAddress,
    size: number,
    header: Uint8Array,
  ): Promise<{ readonly container: Uint8Array; readonly bodyCrc?: string }>;
}

/** A large file of a request: its copy may take several deliveries of the message. */
export interface CopyId {
  readonly requestId: string;
  readonly fileId: string;
}

/** What a multipart upload is begun for. If any of it changes, the upload is of no use. */
export interface UploadFacts {
  /** Outbox key. */
  readonly key: string;
  readonly sourceEtag: string;
  /** SHA-256 of the header for the recipient, hex. */
  readonly headerDigest: string;
  /** Bytes of each copied part but the last. */
  readonly partSize: number;
}

/** An upload that a delivery began. */
export interface RecordedUpload extends UploadFacts {
  readonly uploadId: string;
  /** The parts that were saved. S3 may have more. */
  readonly parts: readonly UploadedPart[];
}

/**
 * The records of unfinished copies. One delivery holds a record at a time. The others can no longer change it. Every
 * method may throw TemporarilyUnavailableError.
 */
export interface CopyRecords {
  /**
   * Hold the record of a copy from now on; make it if there is none.
   *
   * @param holder a UUID of this delivery
   * @param isFirst whether the message came for the first time, or anew from the dead letters: the count begins again
   * @returns `fruitless`: how many deliveries, with this one, have saved no part since the last that did
   */
  take(
    id: CopyId,
    holder: string,
    isFirst: boolean,
  ): Promise<{ readonly fruitless: number; readonly upload: RecordedUpload | undefined }>;
  /** Record a new upload in place of the old one. `false`: another delivery holds the record, and nothing was changed. */
  begin(id: CopyId, holder: string, upload: UploadFacts & { readonly uploadId: string }): Promise<boolean>;
  /** Save more parts. `false` as in `begin`. */
  save(id: CopyId, holder: string, parts: readonly UploadedPart[]): Promise<boolean>;
  /** Set the number of fruitless deliveries: the parts of this one were of no use. */
  setFruitless(id: CopyId, fruitless: number): Promise<void>;
  /** The upload of this copy, if one is recorded. */
  find(id: CopyId): Promise<{ readonly key: string; readonly uploadId: string } | undefined>;
  /** The copy is done with. Records that are older than any message are removed, too. */
  forget(id: CopyId): Promise<void>;
  /** Ids of the recorded uploads to this outbox key, of all requests. */
  uploadsTo(key: string): Promise<ReadonlySet<string>>;
}

/** One of the two queues of file exports. */
export interface FileExports {
  /** Send all messages, in batches; resolves only when the queue has taken every one. */
  send(messages: readonly FileExportMessage[]): Promise<void>;
}

/** An event that was not sent, and why. */
export interface LostEvent {
  readonly event: OperatorEvent;
  readonly error: unknown;
}

/** Tells operators what becomes of requests. The tables of requests are the truth: an event may be lost, or come twice. */
export interface Events {
  /**
   * Send at most ten events. One that was not taken is sent again for a while. This never throws: no export depends on an
   * event.
   *
   * @param withinMs milliseconds after which it gives up
   * @returns the events that were not taken
   */
  publish(events: readonly OperatorEvent[], withinMs: number): Promise<readonly LostEvent[]>;
}

/** The queue of settled requests. */
export interface Deliveries {
  /** Send one message for each request id; resolves only when the queue has taken every one. */
  send(requestIds: readonly string[]): Promise<void>;
}

/** One row of the audit table `data_out.export_log`. */
export interface ExportEvent {
  readonly requestId: string;
  /** `withdrawn`: taken out of the outbox after the dataset was deprecated. `purged`: by an operator. */
  readonly event: 'accepted' | 'rejected' | 'staged' | 'given_up' | 'failed' | 'withdrawn' | 'purged';
  /** Reason code, for `rejected`, `given_up` and `failed`. */
  readonly reason?: string;
  readonly archiveKind?: string;
  readonly datasetId?: string;
  readonly fileId?: string;
  /** Outbox prefix. */
  readonly recipient?: string;
  /** Fingerprint of the recipient's public key. */
  readonly keyFingerprint?: string;
  /** Container size, for `staged`, and for `withdrawn` and `purged` if the container was there. */
  readonly bytes?: number;
  /**
   * For `staged`: `crc64nvme:` and the base64 of the CRC that S3 found as expected, or `none`: the archive has no checksum of
   * the body. Absent: the delivery that wrote the container ended before it wrote the row.
   */
  readonly checksum?: string;
}

/** The audit trail. Recording the same event of the same request and file twice leaves one row. */
export interface ExportLog {
  /** All rows are written, or none. */
  record(...events: readonly ExportEvent[]): Promise<void>;
}
