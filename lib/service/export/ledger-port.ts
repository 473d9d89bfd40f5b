import type { FileState, RequestState } from '../../contract/delivery.ts';
import type { ExportedFile, ExportState, ListedExport, ShownExport } from '../../contract/export-state.ts';
import type { failureReasons } from '../../contract/reasons.ts';
import type { ErrorCode } from '../../errors.ts';
import type { UploadedPart } from '../archive/ports.ts';

// The ledger: what happens to export requests, of their files and of unfinished copies, in the order of a request's life.
// Every change may be repeated after a lost answer.
//
// `datasetId` and `fileId` are stable ids, `recipient` is an outbox prefix, `keyFingerprint` that of the recipient's public key.
// Sizes are in bytes, `headerSha256` is in hex, of the container's header, and a CRC in base64.

/** A request that is carried out. */
export interface AcceptedRequest {
  readonly requestId: string;
  readonly requestedAt: Date;
  readonly archiveKind?: string | undefined;
  /** Stable id of the dataset through which the request is served. */
  readonly datasetId: string;
  /** Stable id of the one file that was asked for. Absent: the whole dataset was. */
  readonly fileId?: string | undefined;
  readonly recipient: string;
  readonly keyFingerprint: string;
}

/** What is known of a request that is not carried out. */
export type RefusedRequest = Pick<AcceptedRequest, 'requestId' | 'requestedAt'> & {
  readonly [Fact in keyof AcceptedRequest]?: AcceptedRequest[Fact] | undefined;
};

/** How far the fan-out of a request has come. */
export interface FanOutProgress {
  /** End of the last page of files whose messages were sent, see `ExportablePage`. Empty: none was. */
  readonly sentTo: string;
  readonly files: number;
}

/** A receive of a message. */
export interface Receive {
  /** How often its queue has delivered it: from 1, and from 1 again when it comes from the dead letters. */
  readonly count: number;
  /** Whether the queue puts the message aside when this delivery fails. */
  readonly isLast: boolean;
}

/** A request as an earlier delivery left it. */
export interface KnownRequest extends FanOutProgress {
  readonly state: RequestState;
  /** The last receive in which the fan-out came further; 0: none. */
  readonly cameFurtherAt: number;
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

export interface FinalizableRequests {
  /**
   * Which of these requests have completed their fan-out, have no open file, and are not closed yet. To be asked by a
   * separate statement after a change: a statement does not see what another commits at the same time.
   */
  finalizable(requestIds: readonly string[]): Promise<readonly string[]>;
}

/** Requests until every message of their files is sent. */
export interface FanOuts extends FinalizableRequests {
  /** Note an attempt to fan the request out. @returns `undefined` for a request that no delivery has decided on */
  begin(requestId: string, receive: Receive): Promise<KnownRequest | undefined>;
  /**
   * Record that the request is carried out, its audit row, and its first files as `pending`. A request that was rejected or
   * had failed is open again. The progress of its fan-out stays.
   *
   * @returns `false` when its files would take the recipient's part of the outbox beyond its quota: nothing was recorded. Of two
   *   requests at the same time, the second sees the first
   */
  accept(request: AcceptedRequest, fileIds: readonly string[], receive: Receive): Promise<boolean>;
  /** Save the progress up to here, and record the next files as `pending`. */
  addFiles(requestId: string, progress: FanOutProgress, fileIds: readonly string[], receive: Receive): Promise<void>;
  /** End the fan-out: no more files will come. @returns whether the request can be finalized; then ask `finalizable` */
  completeFanOut(requestId: string, progress: FanOutProgress): Promise<boolean>;
  /** Record that the request is refused, and its audit row. A request that was accepted before keeps its state. */
  reject(request: RefusedRequest, reason: string): Promise<void>;
  /** Record that the fan-out is given up, and its audit row. A fan-out that has ended keeps its state. */
  fail(request: RefusedRequest, reason: string): Promise<void>;
  /**
   * Record what happens to files of the catalogue that the fan-out did not reach, of one page of those behind `progress` and
   * behind the page before. A file that has ended stays as it is.
   *
   * @returns whether another page may be left
   */
  closeUnsent(requestId: string, progress: FanOutProgress, unsent: Unsent): Promise<boolean>;
}

/** A row of the audit trail. The same event of the same request and file leaves one row, however often it is recorded. */
export interface ExportEvent {
  readonly requestId: string;
  /** `withdrawn`: taken out of the outbox after the dataset was deprecated. `purged`: by an operator. */
  readonly event: 'accepted' | 'rejected' | 'staged' | 'given_up' | 'failed' | 'withdrawn' | 'purged';
  /** Reason code, for `rejected`, `given_up` and `failed`. */
  readonly reason?: string | undefined;
  readonly archiveKind?: string | undefined;
  readonly datasetId?: string | undefined;
  readonly fileId?: string | undefined;
  readonly recipient?: string | undefined;
  readonly keyFingerprint?: string | undefined;
  /** Container size, for `staged`, and for `withdrawn` and `purged` if the container existed. */
  readonly bytes?: number | undefined;
  /**
   * For `staged`: `crc64nvme:` and the base64 of the CRC that S3 found as expected, or `none`: the archive has no checksum of
   * the body. Absent: the delivery that wrote the container ended before it wrote the row.
   */
  readonly checksum?: string | undefined;
}

export interface FileEnd {
  readonly requestId: string;
  readonly fileId: string;
  readonly state: Exclude<FileState, 'pending' | 'withdrawn'>;
  /** Code, for `rejected`, `retrying` and `given_up`. */
  readonly reason?: string;
  /** Id of the newer request, for `superseded`. */
  readonly supersededBy?: string;
  /** For `staged` and `superseded`. */
  readonly outboxKey?: string | undefined;
  readonly bytes?: number;
  /** CRC-64/NVME of the container, base64; absent when it is not known. */
  readonly crc64nvme?: string | undefined;
  readonly headerSha256?: string;
}

/** Files that are staged. A file that has ended stays so: only `staged` may replace `given_up`. */
export interface FileRecords extends FinalizableRequests {
  /**
   * Record what happened to files, and their audit rows. Everything is written, or nothing.
   *
   * @returns the requests that can be finalized; then ask `finalizable`
   */
  record(ends: readonly FileEnd[], events: readonly ExportEvent[]): Promise<readonly string[]>;
}

/** A large file of a request: its copy may take several deliveries of the message. */
export interface CopyId {
  readonly requestId: string;
  readonly fileId: string;
}

/** What a multipart upload is begun for. If any of it changes, the upload is of no use. */
export interface UploadFacts {
  readonly outboxKey: string;
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

/** An unfinished copy, and its upload. */
export interface RecordedCopy extends CopyId {
  readonly outboxKey: string;
  readonly uploadId: string;
}

/** The records of unfinished copies. One delivery holds a record at a time. The others can no longer change it. */
export interface CopyRecords {
  /**
   * Hold the record of a copy from now on; make it if there is none.
   *
   * @param holder a UUID of this delivery
   * @param isFirst whether the message came for the first time, or again from the dead letters: the count begins again
   * @returns `withoutProgress`: how many deliveries, with this one, have saved no part since the last that did
   */
  take(
    id: CopyId,
    holder: string,
    isFirst: boolean,
  ): Promise<{ readonly withoutProgress: number; readonly upload: RecordedUpload | undefined }>;
  /** Record a new upload instead of the old one. `false`: another delivery holds the record, and nothing was changed. */
  begin(id: CopyId, holder: string, upload: UploadFacts & { readonly uploadId: string }): Promise<boolean>;
  /** Save more parts. `false` as in `begin`. */
  save(id: CopyId, holder: string, parts: readonly UploadedPart[]): Promise<boolean>;
  /** The upload of this copy, if one is recorded. */
  find(id: CopyId): Promise<RecordedCopy | undefined>;
  /** The copy is done with. Records that are older than any message are also removed. */
  forget(id: CopyId): Promise<void>;
  /** Ids of the recorded uploads to this outbox key, of all requests. */
  uploadsTo(outboxKey: string): Promise<ReadonlySet<string>>;
  /** Unfinished copies for requests of the dataset. */
  ofDataset(datasetId: string): Promise<readonly RecordedCopy[]>;
  /** Forget the upload of a copy: the next attempt starts from the beginning. */
  forgetUpload(copy: RecordedCopy): Promise<void>;
}

/** A request whose fan-out is complete, so that all its files are known. */
export interface FannedOutRequest {
  readonly requestId: string;
  /** ISO 8601. */
  readonly requestedAt: string;
  readonly kind: 'dataset' | 'file';
  readonly datasetId: string;
  readonly fileId: string | undefined;
  readonly recipient: string;
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
  readonly requestId: string;
  readonly keyFingerprint: string;
  readonly outboxKey: string;
  readonly size: number;
  /** CRC-64/NVME, base64; `undefined` when S3 has none. */
  readonly crc64nvme: string | undefined;
  readonly headerSha256: string;
}

/** A file of a request, and what is in the outbox under its name now. */
export interface RequestedFile {
  readonly fileId: string;
  readonly state: FileState;
  /** Why it was rejected. Another state can also have a reason, for operators. */
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
  readonly supersededBy: { readonly requestId: string; readonly state: FileState | undefined } | undefined;
}

export interface RequestEnd {
  readonly state: RequestState;
  /** Files that are in the outbox for this request's key. */
  readonly staged: number;
  /** Bytes of their containers. */
  readonly stagedBytes: number;
}

type Revision = Pick<FannedOutRequest, 'requestId' | 'receiptRevision'>;

/** Requests whose receipt is to be written. */
export interface ReceiptRecords {
  /** @returns `undefined` for a request that is unknown, not fanned out, rejected or without files */
  find(requestId: string): Promise<FannedOutRequest | undefined>;
  /** All files in the order of their ids, page after page; memory is bounded by one page. */
  files(requestId: string): AsyncIterable<readonly RequestedFile[]>;
  /**
   * Record how a revision ended, together with its audit row. The revision is not closed yet.
   *
   * @returns `false` when the request has a newer revision or an open file by now: nothing was changed
   */
  finalize(request: Revision, end: RequestEnd): Promise<boolean>;
  /** Close a revision: nothing more is to be done for it. @param hasReceipt whether its receipt is in the outbox */
  close(request: Revision, hasReceipt: boolean): Promise<void>;
}

/** A fan-out whose message will not come again. */
export interface BrokenFanOut {
  readonly request: RefusedRequest;
  readonly progress: FanOutProgress;
  /** Why it failed, if that is recorded. */
  readonly reason?: string | undefined;
}

/** What invocations that died left open. Each answer is bounded, so a run may leave some for the next. */
export interface UnfinishedRequests {
  /** Give up files whose last attempt began before `triedBefore` and recorded no end. @returns how many */
  giveUpSilent(triedBefore: Date): Promise<number>;
  /** Give up open files of which nothing has changed since `before`. @returns how many */
  giveUpExpired(before: Date): Promise<number>;
  /**
   * Fan-outs that have not ended, and have failed, or began their last attempt before `triedBefore`, or have not changed since
   * `expiredBefore`. Those that have not changed for longest come first.
   */
  brokenFanOuts(triedBefore: Date, expiredBefore: Date): Promise<readonly BrokenFanOut[]>;
  /**
   * Requests to finalize that are not closed, have not changed since then and were not returned since then. The same one is
   * returned after twice the time, and so on, so that one that cannot be closed does not fill the dead letters.
   */
  unclosed(quietSince: Date): Promise<readonly string[]>;
  /** Whether a request waits for its receipt. One whose recipient was erased never gets one. */
  hasUnfinalized(): Promise<boolean>;
}

/** A container that a request put into the outbox, as the rows have it. By now it may be gone or replaced. */
export interface RecordedContainer {
  readonly requestId: string;
  readonly fileId: string;
  readonly datasetId: string;
  readonly recipient: string;
  readonly key: string;
  /** `given_up`: the last attempt failed, perhaps after the container had become visible. */
  readonly state: 'staged' | 'given_up';
}

/** Which containers: of one dataset, one recipient (outbox prefix) or one request. */
export type ContainerFilter =
  | { readonly datasetId: string }
  | { readonly recipient: string }
  | { readonly requestId: string };

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

/** Containers that are taken out of the outbox. */
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
   * Record what has become of containers, and audit rows. Everything is written, or nothing. With a withdrawn container go all
   * others under its key, also those that it had superseded. A request that loses a container gets its next receipt revision,
   * and so its next receipt.
   */
  recordRemoval(containers: readonly EndedContainer[], events: readonly ExportEvent[]): Promise<void>;
}

/** Which export requests; both conditions together. @default - all */
export interface ExportFilter {
  readonly state?: ExportState | undefined;
  /** Requested at this time or later. */
  readonly since?: Date | undefined;
}

/** What happened to export requests, as administrators see it. A request has a record from its consumption on. */
export interface ExportRecords {
  find(archiveKind: string, requestId: string): Promise<ShownExport | undefined>;
  /** Files of a request in the order of their ids. `page` counts from 0. */
  files(requestId: string, page: number): Promise<readonly ExportedFile[]>;
  /** Newest first. `page` counts from 0. */
  newest(archiveKind: string, filter: ExportFilter, page: number): Promise<readonly ListedExport[]>;
}
