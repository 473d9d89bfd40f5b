import type { RequestState } from '../../contract/delivery.ts';
import type { ExportRequestMessage, FileExportMessage } from '../../contract/messages.ts';
import type {
  Archive,
  ArchivedFile,
  BodyAddress,
  Catalogue,
  FileReference,
  ObjectHead,
  OutboxWriter,
} from '../archive/ports.ts';

/** The catalogue, with what the export alone asks. */
export interface ExportCatalogue extends Catalogue {
  /**
   * The dataset's files that ingestion has finished, page after page in an order of the catalogue; memory is bounded by one
   * page. A page may have no file.
   *
   * @param after end of a page; the pages begin behind it. Empty: with the first
   */
  exportableFiles(datasetId: string, after: string): AsyncIterable<ExportablePage>;
  /** The page of one file alone; `undefined` for an unknown one. */
  exportableFile(fileId: string): Promise<ExportablePage | undefined>;
  /**
   * The files by one query, as `findReleasedFile` finds each. A file that contradicts the catalogue is rejected with an
   * `archive_damaged`, alone. The same query notes each attempt, and reopens a file that was given up when its
   * message comes from the dead letters.
   *
   * @param attempts at most ten, so that the answer stays below the Data API's 1 MiB
   */
  findReleasedFiles(attempts: readonly Attempt[]): Promise<readonly PromiseSettledResult<ArchivedFile | undefined>[]>;
}

export interface ExportableFile {
  readonly fileId: string;
  /** Bytes of the archived body; `undefined` when the catalogue does not say. */
  readonly archiveFileSize: number | undefined;
}

export interface ExportablePage {
  readonly files: readonly ExportableFile[];
  /** Position of the page's end in the order of the catalogue. A later page has a greater one. */
  readonly end: string;
}

export interface Attempt extends FileReference {
  readonly requestId: string;
  /** Whether the message came for the first time, or again from the dead letters. */
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
   * @throws `archive_damaged` when the body is missing or has another size
   */
  readWhole(
    address: BodyAddress,
    size: number,
    header: Uint8Array,
  ): Promise<{ readonly container: Uint8Array; readonly bodyCrc?: string | undefined }>;
}

/** One file of an export for its recipient: what a message of `file-exports` says. */
export type FileExport = Omit<FileExportMessage, 'requestId'> & { readonly requestId: string };

/** One of the two queues of file exports. */
export interface FileExports {
  /** Send one message for each file, in batches; resolves only when the queue has taken every one. */
  send(files: readonly FileExport[]): Promise<void>;
}

/** What operators learn of a request. The event adds the deployment, and nothing else. */
export interface OperatorEvent {
  readonly requestId: string;
  readonly state: RequestState;
}

/** Tells operators what happens to requests. The tables of requests are the truth: an event may be lost, or come twice. */
export interface Events {
  /**
   * Send an event, and again for a while if it is not taken.
   *
   * @param withinMs milliseconds after which it gives up
   * @throws why the event was not taken
   */
  publish(event: OperatorEvent, withinMs: number): Promise<void>;
}

export interface Deliveries {
  /** Send one message for each request id; resolves only when the queue has taken every one. */
  send(requestIds: readonly string[]): Promise<void>;
}

export interface Administrator {
  readonly username: string;
  /** Scrypt in PHC form, or bcrypt. */
  readonly passwordHash: string;
  readonly roles: readonly string[];
}

/** The administrators' secret. */
export interface Administrators {
  find(username: string): Promise<Administrator | undefined>;
}

export interface ExportRequest {
  readonly requestId: string;
  /** Now: decides which of two exports of one file to one recipient stays. */
  readonly requestedAt: Date;
  readonly archiveKind: string;
  readonly message: ExportRequestMessage;
}

/** The queue `export-requests`. */
export interface ExportRequests {
  /** Resolves only when the queue has taken the message. */
  publish(request: ExportRequest): Promise<void>;
}

/** What a receipt says of the key that signs it, in its protected header. */
export interface SignerIdentity {
  /** Thumbprint of the key (RFC 7638). */
  readonly kid: string;
  /** After a rotation: of each older key, oldest first, the signed statement that the next key comes after it. */
  readonly endorsements?: readonly string[];
}

/** Signs receipts: ES256 (RFC 7518 § 3.4). */
export interface ReceiptSigner {
  identity(): Promise<SignerIdentity>;
  /** @param digest SHA-256 of the JWS signing input. @returns the 64 bytes of r and s */
  sign(digest: Uint8Array): Promise<Uint8Array>;
}

/** The outbox, as far as receipts are written to it. */
export type ReceiptOutbox = Pick<OutboxWriter, 'head' | 'put' | 'startUpload'>;

/** The outbox as containers are removed from it. */
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
