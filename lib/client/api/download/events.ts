import type { ClientError } from '../errors.ts';
import type { Verified } from './expected.ts';

/** Progress of one file. */
export type DownloadEvent =
  /** A local file has the name, but another time: its bytes are compared. */
  | { readonly type: 'comparing'; readonly name: string }
  /** `kept` bytes were kept from an earlier run. */
  | { readonly type: 'started'; readonly name: string; readonly size: number; readonly kept: number }
  | { readonly type: 'progress'; readonly name: string; readonly bytes: number }
  /** A request failed and is repeated after a pause. */
  | { readonly type: 'retrying'; readonly name: string; readonly error: ClientError }
  /** The remote file has changed: the download restarts. */
  | { readonly type: 'restarted'; readonly name: string }
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
