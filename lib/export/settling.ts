import type { FileState, RequestState } from '../contract/delivery.ts';
import type { failureReasons } from '../contract/reasons.ts';
import { DataOutError, type ErrorCode } from '../errors.ts';
import type { Deliveries, ExportEvent } from './ports.ts';

/** A request that is carried out. */
export interface AcceptedRequest {
  readonly requestId: string;
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
export type RefusedRequest = Pick<AcceptedRequest, 'requestId' | 'requestedAt'> & Partial<AcceptedRequest>;

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

/** Receives in a row that bring a fan-out no further, after which it is given up. */
export const mostFruitless = 5;

/** A request as an earlier delivery left it. */
export interface KnownRequest extends FanOutProgress {
  readonly state: RequestState;
  /** The last receive in which the fan-out came further; 0: none. */
  readonly cameFurtherAt: number;
  /** Whether the fan-out has ended. */
  readonly isSealed: boolean;
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
  /** End the fan-out: no more files will come. @returns whether the request may be settled; then ask `settledOf` */
  seal(requestId: string, progress: FanOutProgress): Promise<boolean>;
  /** Record that the request is refused, and its audit row. A request that was accepted before keeps its state. */
  reject(request: RefusedRequest, reason: string): Promise<void>;
  /** Record that the fan-out is given up, and its audit row. A fan-out that has ended keeps its state. */
  fail(request: RefusedRequest, reason: string): Promise<void>;
  /**
   * Record what becomes of files of the catalogue that the fan-out did not reach, of one page of those behind `progress` and
   * behind the page before. A file that is settled stays as it is.
   *
   * @returns whether another page may be left
   */
  closeUnsent(requestId: string, progress: FanOutProgress, unsent: Unsent): Promise<boolean>;
}

/** What became of a file. */
export interface FileEnd {
  readonly requestId: string;
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
 * The files of requests, in the table `data_out.request_files`. A settled file stays settled: only `staged` may replace
 * `given_up`. Files of requests from before this table have no row, and nothing is recorded. Every method may throw
 * TemporarilyUnavailableError.
 */
export interface RequestFiles {
  /**
   * Record what became of files, and their audit rows. Everything is written, or nothing.
   *
   * @returns the requests that may be settled; then ask `settledOf`
   */
  record(ends: readonly FileEnd[], events: readonly ExportEvent[]): Promise<readonly string[]>;
  /**
   * Which of these requests are sealed, have no open file, and are not closed yet. To be asked by a statement of its own,
   * after the change: a statement does not see what another commits at the same time.
   */
  settledOf(requestIds: readonly string[]): Promise<readonly string[]>;
}

/** Send on those of the requests that are settled. A request may be sent twice. */
export async function sendSettled(
  requestIds: readonly string[],
  {
    requestFiles,
    deliveries,
  }: { readonly requestFiles: Pick<RequestFiles, 'settledOf'>; readonly deliveries: Deliveries },
): Promise<void> {
  if (requestIds.length === 0) return;
  const settled = await requestFiles.settledOf(requestIds);
  if (settled.length > 0) await deliveries.send(settled);
}

/**
 * End a fan-out before its end: no file behind `sentTo` will be sent. Its position is saved, so that it can be repeated.
 *
 * @param mayGoOn asked after each page
 * @returns `false` when it stopped there
 */
export async function closeFanOut(
  requestId: string,
  progress: FanOutProgress,
  unsent: Unsent,
  dependencies: { readonly requests: Requests } & Parameters<typeof sendSettled>[1],
  mayGoOn: () => boolean,
): Promise<boolean> {
  const { requests } = dependencies;
  while (await requests.closeUnsent(requestId, progress, unsent)) if (!mayGoOn()) return false;
  if (await requests.seal(requestId, progress)) await sendSettled([requestId], dependencies);
  return true;
}

/** The reason of a failure, as a code: what the error is, and nothing of its text. */
export function failureCode(error: unknown): ErrorCode | GiveUpReason {
  return error instanceof DataOutError ? error.code : 'internal_error';
}
