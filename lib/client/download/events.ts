import type { ClientError } from '../errors.ts';

/** What happens to one file; sizes count bytes of the remote file, also when its plaintext is kept. */
export type DownloadEvent =
  /** A file of that name is there, with another time: its bytes are compared. */
  | { readonly type: 'comparing'; readonly name: string }
  /** `kept` bytes are there from a run before. */
  | { readonly type: 'started'; readonly name: string; readonly size: number; readonly kept: number }
  | { readonly type: 'progress'; readonly name: string; readonly bytes: number }
  /** It is tried again after a pause. */
  | { readonly type: 'retrying'; readonly name: string; readonly error: ClientError }
  /** The address had expired; there is a new one. */
  | { readonly type: 'renewed'; readonly name: string }
  /** The remote file has changed: nothing that was there counts any more. */
  | { readonly type: 'restarted'; readonly name: string }
  /** A segment did not authenticate and is fetched again. */
  | { readonly type: 'refetching'; readonly name: string; readonly segment: number }
  | { readonly type: 'finished'; readonly result: FileResult };

/** What became of one file. */
export interface FileResult {
  readonly name: string;
  /** Bytes of the remote file. */
  readonly size: number;
  /** Where it is, or would be. */
  readonly path: string;
  readonly outcome: 'downloaded' | 'skipped' | 'failed';
  /** With `downloaded`: SHA-256 in hex, where it was compared with that of the catalogue. */
  readonly sha256?: string | undefined;
  /** With `failed`. */
  readonly error?: ClientError;
}
