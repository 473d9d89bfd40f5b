import type { ClientError } from '../errors.ts';
import type { Verified } from './expected.ts';

/** Progress of one file. */
export type DownloadEvent =
  /** `kept` bytes are noted from an earlier run. */
  | { readonly type: 'started'; readonly name: string; readonly size: number; readonly kept: number }
  /** Bytes that came; negative: bytes that have to come again. */
  | { readonly type: 'progress'; readonly name: string; readonly bytes: number }
  /** A request failed, or the remote file has changed: it is repeated. */
  | { readonly type: 'retrying'; readonly name: string; readonly error: ClientError }
  /** Not for files that were not begun before the user stopped the run. */
  | { readonly type: 'finished'; readonly result: FileResult };

/** The outcome of one file. */
export interface FileResult {
  readonly name: string;
  /** Bytes of the remote file. */
  readonly size: number;
  /** Its local path, also if it failed. */
  readonly path: string;
  readonly outcome: 'downloaded' | 'skipped' | 'failed';
  /** How it was compared with its delivery receipt in this run; absent if it was not. */
  readonly verified?: Verified | undefined;
  /** With `failed`. */
  readonly error?: ClientError;
}
