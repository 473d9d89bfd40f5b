import type { FileState, RequestState } from '../../contract/delivery.ts';
import { mostWithoutProgress } from '../export/finalizing.ts';

/** The state after an event, by the state before. `absent`: there is no row yet. Any other state stays as it is. */
export type Steps<S extends string> = Readonly<Partial<Record<S | 'absent', S>>>;

/** SQL, by the column that takes its value. */
export type Columns = Readonly<Record<string, string>>;

interface FileTransition {
  readonly steps: Steps<FileState>;
  /** Columns whose values come with the event. */
  readonly given?: readonly string[];
  /** Other columns, over the row `f` before the event. */
  readonly set?: Columns;
  /** What it is for the request of the file. */
  readonly also?: 'file_changed' | 'container_removed';
  /** The states before, if it is that for the request from some alone. */
  readonly alsoFrom?: readonly FileState[];
}

const ofOpen = <S extends FileState>(to: S) => ({ pending: to, retrying: to }) as const;

/** How an attempt ends. */
const end = {
  given: ['reason', 'superseded_by', 'outbox_key', 'bytes', 'crc64nvme', 'header_sha256'],
  set: { is_last_try: 'false' },
  also: 'file_changed',
} as const;
const unsent = { given: ['reason'], set: { is_last_try: 'false' } } as const;
const attempt = { given: ['is_last_try'], set: { tried_at: 'now()' } } as const;
const gone = { given: ['superseded_by', 'outbox_key'], set: { reason: 'null' } } as const;

const ofFiles = {
  /** The fan-out is about to send its message. */
  sent: { steps: { absent: 'pending', given_up: 'pending' }, set: { reason: 'null' } },
  attempted: { steps: { pending: 'pending', retrying: 'retrying' }, ...attempt },
  /** The message comes for the first time, or again from the dead letters. */
  attempted_first: {
    steps: { pending: 'pending', retrying: 'retrying', given_up: 'pending' },
    given: attempt.given,
    set: { ...attempt.set, reason: "case f.state when 'given_up' then null else f.reason end" },
    also: 'file_changed',
    alsoFrom: ['given_up'],
  },
  failed: { steps: ofOpen('retrying'), ...end },
  staged: { steps: { ...ofOpen('staged'), given_up: 'staged' }, ...end },
  superseded: { steps: ofOpen('superseded'), ...end },
  rejected: { steps: ofOpen('rejected'), ...end },
  given_up: { steps: ofOpen('given_up'), ...end },
  /** Its last attempt recorded no end, or its request is older than any message. */
  lost: { steps: ofOpen('given_up'), ...unsent },
  /** The fan-out ended without sending its message. */
  refused_unsent: { steps: { absent: 'rejected', ...ofOpen('rejected') }, ...unsent },
  given_up_unsent: { steps: { absent: 'given_up', ...ofOpen('given_up') }, ...unsent },
  /** Its container is withdrawn, or the outbox no longer holds it. */
  removed: {
    steps: { absent: 'withdrawn', staged: 'withdrawn', given_up: 'withdrawn' },
    ...gone,
    also: 'container_removed',
  },
  /** Another request's container stays under its key. */
  replaced: { steps: { absent: 'superseded', staged: 'superseded', given_up: 'superseded' }, ...gone },
  /** The container under its key, of another request, is withdrawn. */
  key_removed: {
    steps: { staged: 'withdrawn', superseded: 'withdrawn' },
    set: { superseded_by: 'null' },
    also: 'container_removed',
  },
} as const satisfies Readonly<Record<string, FileTransition>>;

export type FileEvent = keyof typeof ofFiles;

/** What each event makes of the row of a file. The statements of the ledger take their conditions, states and columns from here. */
export const fileTransitions: Readonly<Record<FileEvent, FileTransition>> = ofFiles;

/** The states of a request, apart by whether its fan-out is complete: pairs of `state` and `sealed_at is null`. */
export const phases = {
  fanning_out: [['accepted', true]],
  staging: [['accepted', false]],
  /** The fan-out is given up, and files that it did not send are still to be closed. */
  failing: [['failed', true]],
  failed: [['failed', false]],
  ended: [
    ['complete', false],
    ['incomplete', false],
    ['withdrawn', false],
  ],
  rejected: [['rejected', false]],
} as const satisfies Readonly<Record<string, readonly (readonly [RequestState, boolean])[]>>;

export type Phase = keyof typeof phases;

interface RequestTransition {
  readonly steps: Steps<Phase>;
  /** What else must hold of the row `r`. */
  readonly when?: string;
  /** Columns of an existing row `r`, besides `state` and `sealed_at`, which follow from the phase. */
  readonly set?: Columns;
  /** Columns of a new row, likewise. */
  readonly add?: Columns;
  /** Whether `updated_at` stays: nothing changed for those who wait. */
  readonly isQuiet?: boolean;
}

const stays = <P extends Phase>(...some: readonly P[]) =>
  Object.fromEntries(some.map((phase) => [phase, phase])) as { readonly [K in P]: K };

export const quoted = (value: string) => `'${value}'`;

/** Whether an event changes the file of the row `row`. In the order of {@link fileTransitions}: partial indexes have these words. */
export function takes(row: string, event: FileEvent): string {
  const states = Object.keys(fileTransitions[event].steps).filter((state) => state !== 'absent');
  return `${row}.state in (${states.map(quoted).join(', ')})`;
}

/** Whether a row of `data_out.request_files` is open, in the words of its partial indexes. */
export const isOpen = (row: string) => takes(row, 'attempted');

/** Whether the request of the expression `request` has an open file. */
export const hasOpenFiles = (request: string) => `exists (
  select from data_out.request_files o where o.request_id = ${request} and ${isOpen('o')})`;

/** Whether the receipt of a request `r` is still to be written, or written again. */
export const isReceiptOwed = 'r.settled_generation < r.generation';

const cameFurtherAt = 'least(r.came_further_at, cast(:receive as integer) - 1)';
const progress = {
  sent_to: 'greatest(r.sent_to, :sent_to)',
  files: 'greatest(r.files, cast(:files as integer))',
};
const undecided = { reason: 'cast(:reason as text)', settled_at: 'now()', settled_generation: '1' };

const ofRequests = {
  /** A delivery of its message begins. */
  begun: {
    steps: stays('fanning_out', 'failing'),
    set: {
      tried_at: 'now()',
      came_further_at: cameFurtherAt,
      is_last_try: `:is_last_try or cast(:receive as integer) - ${cameFurtherAt} >= ${mostWithoutProgress}`,
    },
    isQuiet: true,
  },
  /** A request that has ended its fan-out before needs another receipt. */
  accepted: {
    steps: { absent: 'fanning_out', rejected: 'fanning_out', failing: 'fanning_out', failed: 'fanning_out' },
    set: {
      ...{ reason: 'null', archive_kind: 'excluded.archive_kind', kind: 'excluded.kind' },
      ...{ dataset_id: 'excluded.dataset_id', file_id: 'excluded.file_id', recipient: 'excluded.recipient' },
      ...{ key_fingerprint: 'excluded.key_fingerprint', tried_at: 'now()' },
      ...{ closed_to: 'null', closed: '0', came_further_at: cameFurtherAt, is_last_try: 'excluded.is_last_try' },
      generation: 'case when r.sealed_at is null then r.generation else r.generation + 1 end',
    },
    add: { tried_at: 'now()', is_last_try: ':is_last_try' },
  },
  /** The messages of a page are sent; those of the next one are about to be. */
  page_sent: {
    steps: stays('fanning_out', 'failing', 'failed'),
    when: 'r.sent_to < :sent_to',
    set: { sent_to: ':sent_to', files: ':files', came_further_at: ':receive', is_last_try: ':is_last_try' },
  },
  /** A page of files that the fan-out did not send is closed. */
  page_closed: {
    steps: stays('fanning_out', 'failing'),
    set: {
      ...progress,
      closed_to: '(select p.id from page p order by p.id desc limit 1)',
      closed: 'r.closed + (select count(*) from page p where p.is_unsent)',
    },
  },
  fan_out_complete: {
    steps: { fanning_out: 'staging', failing: 'failed' },
    set: { ...progress, is_last_try: 'false' },
  },
  refused: { steps: { absent: 'rejected' }, add: undecided },
  fan_out_failed: {
    steps: { absent: 'failed', fanning_out: 'failing' },
    set: { reason: 'excluded.reason' },
    add: undecided,
  },
  /** Every file has ended; the state is how. */
  finalized: {
    steps: { staging: 'ended', ended: 'ended', failed: 'failed' },
    when: `r.generation = :generation and not ${hasOpenFiles('r.request_id')}`,
    set: { staged: 'cast(:staged as integer)', staged_bytes: 'cast(:staged_bytes as bigint)', settled_at: 'now()' },
    isQuiet: true,
  },
  /** Nothing more is to be done for this revision of the receipt. */
  closed: {
    steps: stays('fanning_out', 'failing', 'staging', 'failed', 'ended'),
    when: 'r.settled_generation < :generation',
    set: {
      settled_generation: ':generation',
      receipt_generation: 'case when :has_receipt then :generation else r.receipt_generation end',
    },
  },
  /**
   * A file changed. A request with open files whose receipt is owed has raised its revision already, or was never finalized. If
   * it is closed although it has one, it was finalized while another statement opened the file.
   */
  file_changed: {
    steps: stays('fanning_out', 'failing', 'staging', 'failed', 'ended'),
    when: `(not ${isReceiptOwed} or not ${hasOpenFiles('r.request_id')})`,
    set: { generation: 'r.generation + 1' },
  },
  container_removed: {
    steps: stays('fanning_out', 'failing', 'staging', 'failed', 'ended'),
    set: { generation: 'r.generation + 1' },
  },
} as const satisfies Readonly<Record<string, RequestTransition>>;

export type RequestEvent = keyof typeof ofRequests;

/** What each event makes of the row of a request. */
export const requestTransitions: Readonly<Record<RequestEvent, RequestTransition>> = ofRequests;
