import type { FileState, RequestState } from '../../contract/delivery.ts';
import type { OperatorEvent } from '../../contract/events.ts';
import type { ExportedFile, ExportState, ListedExport, ShownExport } from '../../contract/export-state.ts';
import type { ExportRequestMessage, FileExportMessage } from '../../contract/messages.ts';
import type { failureReasons } from '../../contract/reasons.ts';
import type { ErrorCode } from '../../errors.ts';
import type {
  Archive,
  ArchivedFile,
  BodyAddress,
  Catalogue,
  FileReference,
  ObjectHead,
  OutboxWriter,
  UploadedPart,
} from '../archive/ports.ts';

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
  readonly exportId: string;
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
  readonly exportId: string;
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
   * @returns `withoutProgress`: how many deliveries, with this one, have saved no part since the last that did
   */
  take(
    id: CopyId,
    holder: string,
    isFirst: boolean,
  ): Promise<{ readonly withoutProgress: number; readonly upload: RecordedUpload | undefined }>;
  /** Record a new upload in place of the old one. `false`: another delivery holds the record, and nothing was changed. */
  begin(id: CopyId, holder: string, upload: UploadFacts & { readonly uploadId: string }): Promise<boolean>;
  /** Save more parts. `false` as in `begin`. */
  save(id: CopyId, holder: string, parts: readonly UploadedPart[]): Promise<boolean>;
  /** Set the number of deliveries without progress: the parts of this one were of no use. */
  setWithoutProgress(id: CopyId, withoutProgress: number): Promise<void>;
  /** The upload of this copy, if one is recorded. */
  find(id: CopyId): Promise<{ readonly key: string; readonly uploadId: string } | undefined>;
  /** The copy is done with. Records that are older than any message are removed, too. */
  forget(id: CopyId): Promise<void>;
  /** Ids of the recorded uploads to this outbox key, of all requests. */
  uploadsTo(key: string): Promise<ReadonlySet<string>>;
}

/** One file of an export for its recipient: what a message of `file-exports` says. */
export type FileExport = Omit<FileExportMessage, 'requestId'> & { readonly exportId: string };

/** One of the two queues of file exports. */
export interface FileExports {
  /** Send one message for each file, in batches; resolves only when the queue has taken every one. */
  send(files: readonly FileExport[]): Promise<void>;
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

/** The queue of requests to finalize. */
export interface Deliveries {
  /** Send one message for each request id; resolves only when the queue has taken every one. */
  send(exportIds: readonly string[]): Promise<void>;
}

/** One row of the audit table `data_out.export_log`. */
export interface ExportEvent {
  readonly exportId: string;
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

/** A user who may call the administrative endpoints. */
export interface Administrator {
  readonly username: string;
  /** Scrypt in PHC form, or bcrypt. */
  readonly passwordHash: string;
  readonly roles: readonly string[];
}

/** The administrators' secret. May throw TemporarilyUnavailableError. */
export interface Administrators {
  find(username: string): Promise<Administrator | undefined>;
}

/** An accepted call to the export endpoint. */
export interface ExportRequest {
  /** UUID. */
  readonly exportId: string;
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
  find(archiveKind: string, exportId: string): Promise<ShownExport | undefined>;
  /** Files of a request in the order of their ids. `page` counts from 0. */
  files(exportId: string, page: number): Promise<readonly ExportedFile[]>;
  /** Newest first. `page` counts from 0. */
  newest(archiveKind: string, filter: ExportFilter, page: number): Promise<readonly ListedExport[]>;
}

/** A request that is carried out. */
export interface AcceptedRequest {
  readonly exportId: string;
  readonly requestedAt: Date;
  readonly archiveKind?: string;
  /** Stable id of the dataset through which the request is served. */
  readonly datasetId: string;
  /** Stable id of the one file that was asked for. Absent: the whole dataset was. */
  readonly fileId?: string;
  /** Outbox prefix. */
  readonly recipient: string;
  /** Fingerprint of the recipient's public key. */
  readonly keyFingerprint: string;
}

/** What is known of a request that is not carried out. */
export type RefusedRequest = Pick<AcceptedRequest, 'exportId' | 'requestedAt'> & Partial<AcceptedRequest>;

/** How far the fan-out of a request has come. */
export interface FanOutProgress {
  /** End of the last page of files whose messages were sent, see `ExportablePage`. Empty: none was. */
  readonly sentTo: string;
  /** Messages sent. */
  readonly files: number;
}

/** A receive of the message of a request. */
export interface Receive {
  /** From 1, and from 1 again when the message comes from the dead letters. */
  readonly count: number;
  /** Whether the queue puts the message aside when this delivery fails. */
  readonly isLast: boolean;
}

/** A request as an earlier delivery left it. */
export interface KnownRequest extends FanOutProgress {
  readonly state: RequestState;
  /** The last receive in which the fan-out came further; 0: none. */
  readonly cameFurtherAt: number;
  /** Whether the fan-out has ended. */
  readonly isFannedOut: boolean;
  /** Stable id, or what was asked for in a request that was rejected. */
  readonly datasetId: string | undefined;
}

/** Why a file or a fan-out is given up, where that is not the code of an error. */
export type GiveUpReason = Exclude<keyof typeof failureReasons, ErrorCode>;

/** A file whose message was not sent, and never will be unless the request is replayed. */
export interface Unsent {
  readonly state: Extract<FileState, 'rejected' | 'given_up'>;
  readonly reason: string;
}

/**
 * Requests and their fan-outs, in the table `data_out.requests`. Each change may be repeated. Every method may throw
 * TemporarilyUnavailableError.
 */
export interface Requests {
  /** Note an attempt to fan the request out. @returns `undefined` for a request that no delivery has decided on */
  begin(exportId: string, receive: Receive): Promise<KnownRequest | undefined>;
  /**
   * Record that the request is carried out, its audit row, and its first files as `pending`. A request that was rejected or
   * had failed is open again. The progress of its fan-out stays.
   *
   * @returns `false` when its files would take the recipient's part of the outbox beyond its quota: nothing was recorded. Of two
   *   requests at the same time, the second sees the first
   */
  accept(request: AcceptedRequest, fileIds: readonly string[], receive: Receive): Promise<boolean>;
  /** Save the progress up to here, and record the next files as `pending`. */
  addFiles(exportId: string, progress: FanOutProgress, fileIds: readonly string[], receive: Receive): Promise<void>;
  /** End the fan-out: no more files will come. @returns whether the request can be finalized; then ask `finalizable` */
  completeFanOut(exportId: string, progress: FanOutProgress): Promise<boolean>;
  /** Record that the request is refused, and its audit row. A request that was accepted before keeps its state. */
  reject(request: RefusedRequest, reason: string): Promise<void>;
  /** Record that the fan-out is given up, and its audit row. A fan-out that has ended keeps its state. */
  fail(request: RefusedRequest, reason: string): Promise<void>;
  /**
   * Record what becomes of files of the catalogue that the fan-out did not reach, of one page of those behind `progress` and
   * behind the page before. A file that has ended stays as it is.
   *
   * @returns whether another page may be left
   */
  closeUnsent(exportId: string, progress: FanOutProgress, unsent: Unsent): Promise<boolean>;
}

/** What became of a file. */
export interface FileEnd {
  readonly exportId: string;
  readonly fileId: string;
  readonly state: Exclude<FileState, 'pending' | 'withdrawn'>;
  /** Code, for `rejected`, `retrying` and `given_up`. */
  readonly reason?: string;
  /** Id of the newer request, for `superseded`. */
  readonly supersededBy?: string;
  /** For `staged` and `superseded`. */
  readonly outboxKey?: string;
  /** Of the container. */
  readonly bytes?: number;
  /** CRC-64/NVME of the container, base64; absent when it is not known. */
  readonly crc64nvme?: string;
  /** SHA-256 of the container's header, hex. */
  readonly headerSha256?: string;
}

/**
 * The files of requests, in the table `data_out.request_files`. A file that has ended stays so: only `staged` may replace
 * `given_up`. Files of requests from before this table have no row, and nothing is recorded. Every method may throw
 * TemporarilyUnavailableError.
 */
export interface RequestFiles {
  /**
   * Record what became of files, and their audit rows. Everything is written, or nothing.
   *
   * @returns the requests that can be finalized; then ask `finalizable`
   */
  record(ends: readonly FileEnd[], events: readonly ExportEvent[]): Promise<readonly string[]>;
  /**
   * Which of these requests have completed their fan-out, have no open file, and are not closed yet. To be asked by a
   * separate statement after the change: a statement does not see what another commits at the same time.
   */
  finalizable(exportIds: readonly string[]): Promise<readonly string[]>;
}

/** A request whose files are all known to the log (its fan-out is complete). */
export interface FannedOutRequest {
  readonly exportId: string;
  /** ISO 8601. */
  readonly requestedAt: string;
  readonly kind: 'dataset' | 'file';
  /** Stable id, `EGAD…`. */
  readonly datasetId: string;
  /** Stable id, `EGAF…`; `undefined` for a dataset. */
  readonly fileId: string | undefined;
  /** Outbox prefix. */
  readonly recipient: string;
  /** Fingerprint of the recipient's public key. */
  readonly keyFingerprint: string;
  readonly state: RequestState;
  /** From 1. Higher whenever the request is to be finalized again; it may skip numbers. */
  readonly receiptRevision: number;
  /** The last revision that was closed; 0: none. */
  readonly finalizedRevision: number;
  /** Whether a file has not ended. */
  readonly isOpen: boolean;
}

/** A container in the outbox, as the request that wrote it last recorded it. */
export interface StagedContainer {
  readonly exportId: string;
  readonly keyFingerprint: string;
  readonly outboxKey: string;
  /** Bytes. */
  readonly size: number;
  /** CRC-64/NVME, base64; `undefined` when S3 has none. */
  readonly crc64nvme: string | undefined;
  /** SHA-256 of the header, hex. */
  readonly headerSha256: string;
}

/** A file of a request, and what is in the outbox under its name now. */
export interface RequestedFile {
  /** Stable id, `EGAF…`. */
  readonly fileId: string;
  readonly state: FileState;
  /** Why it was rejected. Another state may have a reason, too, for operators. */
  readonly reason: string | undefined;
  /** As the submitter gave it. */
  readonly path: string;
  /** Bytes; `undefined` when the catalogue does not say. */
  readonly plaintextSize: number | undefined;
  /** Hex; `undefined` when the catalogue does not say. */
  readonly plaintextSha256: string | undefined;
  /** For `staged` and `superseded`: the newest container of this file, of this request or a newer one. */
  readonly newest: StagedContainer | undefined;
  /** For `superseded`: the request whose container was in the way, and the state of its row, if it has one. */
  readonly supersededBy: { readonly exportId: string; readonly state: FileState | undefined } | undefined;
}

/** How a request ended. */
export interface RequestEnd {
  readonly state: RequestState;
  /** Files that are in the outbox for this request's key. */
  readonly staged: number;
  /** Bytes of their containers. */
  readonly stagedBytes: number;
}

/** The log of requests and their files. Every method may throw TemporarilyUnavailableError. */
export interface DeliveryLog {
  /** @returns `undefined` for a request that is unknown, not fanned out, rejected or without files */
  find(exportId: string): Promise<FannedOutRequest | undefined>;
  /** All files in the order of their ids, page after page; memory is bounded by one page. */
  files(exportId: string): AsyncIterable<readonly RequestedFile[]>;
  /**
   * Record how a revision ended, together with its audit row. May be repeated. The revision is not closed yet.
   *
   * @returns `false` when the request has a newer revision or an open file by now: nothing was changed
   */
  finalize(request: Pick<FannedOutRequest, 'exportId' | 'receiptRevision'>, end: RequestEnd): Promise<boolean>;
  /**
   * Close a revision: nothing more is to be done for it.
   *
   * @param hasReceipt whether its receipt is in the outbox
   */
  close(request: Pick<FannedOutRequest, 'exportId' | 'receiptRevision'>, hasReceipt: boolean): Promise<void>;
}

/** What a receipt says of the key that signs it, in its protected header. */
export interface SignerIdentity {
  /** Thumbprint of the key (RFC 7638). */
  readonly kid: string;
  /** After a rotation: of each older key, oldest first, the signed statement that the next key comes after it. */
  readonly endorsements?: readonly string[];
}

/** Signs receipts: ES256 (RFC 7518 § 3.4). Every method may throw TemporarilyUnavailableError. */
export interface ReceiptSigner {
  identity(): Promise<SignerIdentity>;
  /** @param digest SHA-256 of the JWS signing input. @returns the 64 bytes of r and s */
  sign(digest: Uint8Array): Promise<Uint8Array>;
}

/** The outbox, as far as receipts are written to it. */
export type ReceiptOutbox = Pick<OutboxWriter, 'head' | 'put' | 'startUpload'>;

/** A container that a request put into the outbox, as the rows have it. By now it may be gone or replaced. */
export interface RecordedContainer {
  readonly exportId: string;
  /** Stable id, `EGAF…`. */
  readonly fileId: string;
  /** Stable id, `EGAD…`. */
  readonly datasetId: string;
  /** Outbox prefix. */
  readonly recipient: string;
  /** Outbox key. */
  readonly key: string;
  /** `given_up`: the last attempt failed, perhaps after the container had become visible. */
  readonly state: 'staged' | 'given_up';
}

/** Which containers: of one dataset, one recipient (outbox prefix) or one request. */
export type ContainerFilter =
  | { readonly datasetId: string }
  | { readonly recipient: string }
  | { readonly exportId: string };

/** What has become of a container that was recorded. */
export interface EndedContainer extends RecordedContainer {
  /** `superseded`: the key now has a container that stays. */
  readonly end: 'withdrawn' | 'superseded';
  /** The request of that container, if it is known. */
  readonly by?: string | undefined;
}

/** A dataset whose newest event is `deprecated`. */
export interface DeprecatedDataset {
  readonly datasetId: string;
  /** Whether a short-lived container of direct access may be left from the time before. */
  readonly isRecent: boolean;
}

/** An unfinished copy that the database remembers. */
export interface RecordedCopy {
  readonly exportId: string;
  readonly fileId: string;
  readonly key: string;
  readonly uploadId: string;
}

/** The rows about the outbox. Every method may throw TemporarilyUnavailableError, and may be repeated. */
export interface OutboxRecords {
  /** The newest first. */
  deprecatedDatasets(): Promise<readonly DeprecatedDataset[]>;
  /**
   * Containers that may still be in the outbox, page after page, at most 400 each.
   *
   * @param options.withdrawn leave out a container that the recipient also got through another dataset, if that dataset is
   *   released and still has the file
   */
  containers(
    filter: ContainerFilter,
    options?: { readonly withdrawn: boolean },
  ): AsyncIterable<readonly RecordedContainer[]>;
  /**
   * Write down what has become of containers. With a withdrawn one go all others under its key, also those that it had
   * superseded. A request that loses a container gets its next receipt revision, and so its next receipt.
   */
  recordEnds(containers: readonly EndedContainer[]): Promise<void>;
  /** Unfinished copies for requests of the dataset. */
  copies(datasetId: string): Promise<readonly RecordedCopy[]>;
  /** Forget the upload of a copy: the next attempt begins anew. */
  forgetUpload(copy: RecordedCopy): Promise<void>;
}

/** The outbox as containers are removed from it. Every method may throw TemporarilyUnavailableError. */
export interface RemovableOutbox {
  head(key: string): Promise<ObjectHead | undefined>;
  /** Delete the object while its ETag is `etag`. `replaced`: the key has another object, which stays. */
  remove(key: string, etag: string): Promise<'removed' | 'gone' | 'replaced'>;
  /** Note that a request is about to be open. The reconciliation looks for requests only after that. */
  markOpen(): Promise<void>;
  /** All keys of one recipient's part, page after page. @param recipient outbox prefix */
  keysOf(recipient: string): AsyncIterable<readonly string[]>;
  /** Keys of the short-lived containers of direct access, page after page. */
  directKeys(): AsyncIterable<readonly string[]>;
  /** Abort all unfinished uploads to a key, except those of `kept`. */
  abortUploads(key: string, kept: ReadonlySet<string>): Promise<void>;
}
