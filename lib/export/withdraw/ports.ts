import type { ObjectHead } from '../../archive/ports.ts';

/** A container that a request put into the outbox, as the rows have it. By now it may be gone or replaced. */
export interface RecordedContainer {
  readonly requestId: string;
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
  | { readonly requestId: string };

/** What has become of a container that was recorded. */
export interface SettledContainer extends RecordedContainer {
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
  readonly requestId: string;
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
   * superseded. A request that loses a container gets its next generation, and so its next receipt.
   */
  settle(containers: readonly SettledContainer[]): Promise<void>;
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
  /** Note that a request is about to be open. The sweep looks for requests only after that. */
  markOpen(): Promise<void>;
  /** All keys of one recipient's part, page after page. @param recipient outbox prefix */
  keysOf(recipient: string): AsyncIterable<readonly string[]>;
  /** Keys of the short-lived containers of direct access, page after page. */
  directKeys(): AsyncIterable<readonly string[]>;
  /** Abort all unfinished uploads to a key, except those of `kept`. */
  abortUploads(key: string, kept: ReadonlySet<string>): Promise<void>;
}
