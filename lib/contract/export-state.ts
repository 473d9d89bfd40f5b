/**
 * State of an export as `GET /export/{archive_kind}` shows it. `accepted`: every file is still open. `staging`: some
 * files have ended, or all have and the request is about to be settled. The others are final.
 */
export const exportStates = ['accepted', 'rejected', 'staging', 'complete', 'incomplete', 'withdrawn'] as const;
export type ExportState = (typeof exportStates)[number];

/** State of a file as the same route shows it. */
export const fileStates = ['pending', 'staged', 'superseded', 'withdrawn', 'rejected', 'given_up'] as const;
export type FileState = (typeof fileStates)[number];

/** Whether an export of this state continues. */
export function isUnderWay(state: ExportState): state is 'accepted' | 'staging' {
  return state === 'accepted' || state === 'staging';
}

/** An export request that the service has decided on. Times are ISO 8601 in UTC. Nothing in it is a visa or a key. */
export interface ExportRequestState {
  /** UUID. */
  readonly requestId: string;
  readonly state: ExportState;
  /** Reason code of a rejection. */
  readonly reason: string | null;
  /** What was asked for. */
  readonly kind: 'dataset' | 'file' | null;
  /** Stable id of the dataset, `EGAD…`. */
  readonly dataset: string | null;
  /** Stable id of the file that was asked for, `EGAF…`. */
  readonly file: string | null;
  /** SHA-256 of the recipient's identity, hex: the prefix of the outbox. */
  readonly recipient: string | null;
  /** SHA-256 of the recipient's raw public key, hex. */
  readonly keyFingerprint: string | null;
  readonly requestedAt: string;
  readonly settledAt: string | null;
  /** From 1. Higher whenever the request is settled again; it may skip numbers. */
  readonly generation: number;
  /** Outbox name of the delivery receipt, once it is written. */
  readonly receipt: string | null;
}

/** A row of the list. */
export interface ListedExport extends ExportRequestState {
  /**
   * Number of files. Those that are not counted are `null`: too many files of this page are under way. Of a settled export,
   * `staged` counts the files that its receipt lists: also those that a newer export with the same key wrote.
   */
  readonly counts: {
    readonly total: number;
    readonly staged: number | null;
    readonly pending: number | null;
  };
  /** Bytes of the staged containers. */
  readonly bytes: number | null;
}

/** One request. */
export interface ShownExport extends ExportRequestState {
  /**
   * Number of files in each state. Of a settled export, `staged` counts as {@link ListedExport} does, and `superseded` counts the
   * other containers that newer exports wrote.
   */
  readonly counts: Readonly<Record<FileState, number>> & { readonly total: number };
  /** Bytes of the staged containers. */
  readonly bytes: number;
}

/** A file of a request. */
export interface ExportedFile {
  /** Stable id, `EGAF…`. */
  readonly fileId: string;
  readonly state: FileState;
  /** Reason code, for `rejected` and `given_up`. For `pending`, why the last attempt failed. */
  readonly reason: string | null;
  /** The newer request, for `superseded`. */
  readonly supersededBy: string | null;
  /** Bytes of the container. */
  readonly bytes: number | null;
  /** When the file last changed. */
  readonly changedAt: string;
}
