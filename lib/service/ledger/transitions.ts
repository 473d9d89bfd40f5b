import type { FileState, RequestState } from '../../contract/delivery.ts';
import { mostWithoutProgress } from '../export/finalizing.ts';
import type { Attempt } from '../export/ports.ts';

/** A row that does not exist yet. */
type Absent = 'absent';

type FileSteps = Readonly<Partial<Record<FileState | Absent, FileState>>>;

const ofOpen = <S extends FileState>(to: S) => ({ pending: to, retrying: to }) as const;

/**
 * What each event makes of the row of a file, by the state before. A state that an event does not name stays as it is. The
 * statements of the ledger take their conditions and new states from here.
 */
export const fileTransitions = {
  /** The fan-out is about to send its message. */
  sent: { absent: 'pending', given_up: 'pending' },
  attempted: { pending: 'pending', retrying: 'retrying' },
  /** The message comes for the first time, or again from the dead letters. */
  attempted_first: { pending: 'pending', retrying: 'retrying', given_up: 'pending' },
  failed: ofOpen('retrying'),
  staged: { ...ofOpen('staged'), given_up: 'staged' },
  superseded: ofOpen('superseded'),
  rejected: ofOpen('rejected'),
  given_up: ofOpen('given_up'),
  /** The fan-out ended without sending its message. */
  refused_unsent: { absent: 'rejected', ...ofOpen('rejected') },
  given_up_unsent: { absent: 'given_up', ...ofOpen('given_up') },
  /** Its container is withdrawn, or the outbox no longer holds it. */
  removed: { absent: 'withdrawn', staged: 'withdrawn', given_up: 'withdrawn' },
  /** Another request's container stays under its key. */
  replaced: { absent: 'superseded', staged: 'superseded', given_up: 'superseded' },
  /** The container under its key, of another request, is withdrawn. */
  key_removed: { staged: 'withdrawn', superseded: 'withdrawn' },
} as const satisfies Readonly<Record<string, FileSteps>>;

export type FileEvent = keyof typeof fileTransitions;

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
  /** The phase after the event, by the phase before. Another phase stays as it is. */
  readonly steps: Readonly<Partial<Record<Phase | Absent, Phase>>>;
  /** Columns of an existing row `r`, as SQL. */
  readonly set: Readonly<Record<string, string>>;
}

const cameFurtherAt = 'least(r.came_further_at, cast(:receive as integer) - 1)';
const progress = {
  sent_to: 'greatest(r.sent_to, :sent_to)',
  files: 'greatest(r.files, cast(:files as integer))',
};

/** What each event makes of the row of a request. */
export const requestTransitions = {
  /** A delivery of its message begins. */
  begun: {
    steps: { fanning_out: 'fanning_out', failing: 'failing' },
    set: {
      tried_at: 'now()',
      came_further_at: cameFurtherAt,
      is_last_try: `:is_last_try or cast(:receive as integer) - ${cameFurtherAt} >= ${mostWithoutProgress}`,
    },
  },
  /** A request that has ended its fan-out before needs another receipt. */
  accepted: {
    steps: { absent: 'fanning_out', rejected: 'fanning_out', failing: 'fanning_out', failed: 'fanning_out' },
    set: {
      ...{ state: "'accepted'", reason: 'null', archive_kind: 'excluded.archive_kind', kind: 'excluded.kind' },
      ...{ dataset_id: 'excluded.dataset_id', file_id: 'excluded.file_id', recipient: 'excluded.recipient' },
      ...{ key_fingerprint: 'excluded.key_fingerprint', sealed_at: 'null', tried_at: 'now()' },
      ...{ closed_to: 'null', closed: '0', came_further_at: cameFurtherAt, is_last_try: 'excluded.is_last_try' },
      generation: 'case when r.sealed_at is null then r.generation else r.generation + 1 end',
    },
  },
  fan_out_complete: {
    steps: { fanning_out: 'staging', failing: 'failed' },
    set: { ...progress, sealed_at: 'coalesce(r.sealed_at, now())', is_last_try: 'false' },
  },
  refused: { steps: { absent: 'rejected' }, set: {} },
  fan_out_failed: {
    steps: { absent: 'failed', fanning_out: 'failing' },
    set: { state: "'failed'", reason: 'excluded.reason' },
  },
  /** Every file has ended; `state` is how. */
  finalized: {
    steps: { staging: 'ended', ended: 'ended', failed: 'failed' },
    set: {
      ...{ state: ':state', staged: 'cast(:staged as integer)', staged_bytes: 'cast(:staged_bytes as bigint)' },
      settled_at: 'now()',
    },
  },
} as const satisfies Readonly<Record<string, RequestTransition>>;

export type RequestEvent = keyof typeof requestTransitions;

/** These events leave `updated_at` as it is. */
const withoutUpdate: readonly RequestEvent[] = ['begun', 'finalized'];

const text = (value: string) => `'${value}'`;
const existing = (steps: FileSteps) => Object.keys(steps).filter((state) => state !== 'absent');

/** Whether an event changes the file of the row `row`. In the order of {@link fileTransitions}: partial indexes have these words. */
export const takes = (row: string, event: FileEvent): string =>
  `${row}.state in (${existing(fileTransitions[event]).map(text).join(', ')})`;

/** The state of a file that {@link takes} the event. */
export function stateAfter(row: string, event: FileEvent): string {
  const steps = Object.entries(fileTransitions[event]).filter(([from]) => from !== 'absent');
  return `case ${row}.state ${steps.map(([from, to]) => `when '${from}' then '${to}'`).join(' ')} end`;
}

/** How an attempt can end, in the words of `FileEnd.state`. */
const ends = ['failed', 'staged', 'superseded', 'rejected', 'given_up'] as const satisfies readonly FileEvent[];

/** Whether the file of the row `before` takes the state of the row `end`. */
export const takesEnd = (before: string, end: string): string => {
  const steps = ends.flatMap((event) => Object.entries(fileTransitions[event]));
  return `(${before}.state, ${end}.state) in (${steps.map(([from, to]) => `('${from}', '${to}')`).join(', ')})`;
};

/** Whether an event changes the request of the row `r`. */
export function requestTakes(event: RequestEvent): string {
  const from = (Object.keys(requestTransitions[event].steps) as (Phase | Absent)[]).filter((one) => one !== 'absent');
  const pairs = from.flatMap((phase) => phases[phase].map(([state, isOpen]) => `('${state}', ${isOpen})`));
  return `(r.state, r.sealed_at is null) in (${pairs.join(', ')})`;
}

/** The assignments of an event, for `update data_out.requests r set`. */
export function assignments(event: RequestEvent): string {
  const set = { ...requestTransitions[event].set, ...(withoutUpdate.includes(event) ? {} : { updated_at: 'now()' }) };
  return Object.entries(set)
    .map(([column, value]) => `${column} = ${value}`)
    .join(', ');
}

/** Both tables as state pictures of Mermaid, for the page about them. */
export function pictures(): { readonly requests: string; readonly files: string } {
  const requests = Object.entries(requestTransitions).map(([event, { steps }]) => [event, steps] as const);
  return { requests: picture(requests), files: picture(Object.entries(fileTransitions)) };
}

function picture(events: readonly (readonly [event: string, steps: Readonly<Record<string, string>>])[]): string {
  const labels = new Map<string, string[]>();
  for (const [event, steps] of events) {
    for (const [from, to] of Object.entries(steps)) {
      const arrow = `${from === 'absent' ? '[*]' : from} --> ${to}`;
      labels.set(arrow, [...(labels.get(arrow) ?? []), event]);
    }
  }
  return ['stateDiagram-v2', ...[...labels].map(([arrow, names]) => `  ${arrow}: ${names.join(', ')}`)].join('\n');
}

/** Whether a row of `data_out.request_files` is open, in the words of its partial indexes. */
export const isOpen = (row: string) => takes(row, 'attempted');

/** Whether the request of the expression `request` has an open file. */
export const hasOpenFiles = (request: string) => `exists (
  select from data_out.request_files o where o.request_id = ${request} and ${isOpen('o')})`;

/**
 * Whether a request can be finalized: every open file that it has may be in flight at this moment, so that the caller may be
 * the last. If not, another file is still to come, and its delivery will ask again. It looks at one row more than
 * `mostInFlight`.
 *
 * @param others condition on the open rows `o` that count
 */
export const mayFinalize = (request: string, mostInFlight: number, others = 'true') => `(
  select count(*) <= ${mostInFlight} and not coalesce(bool_or(held.tried_at is null), false)
  from (
    select o.tried_at from data_out.request_files o
    where o.request_id = ${request} and ${isOpen('o')} and ${others}
    limit ${mostInFlight + 1}
  ) held)`;

/**
 * Raises the receipt revision of requests whose files change after they were finalized. A request with open files has raised it
 * already, or was never finalized. If it is closed all the same, it was finalized while another statement opened the file.
 *
 * @param changed query of their ids
 */
export const raiseRevision = (changed: string) => `update data_out.requests r
  set generation = r.generation + 1, updated_at = now()
  where r.request_id in (${changed})
    and (r.settled_generation >= r.generation or not ${hasOpenFiles('r.request_id')})`;

/**
 * Common table expressions that note the attempts of the parameter `attempts`. A file that was given up is open again when
 * its message comes for the first time: it was moved back from the dead letters. Rows are locked in order, so that two
 * statements with the same rows cannot wait for each other.
 */
const noteSql = `attempts as materialized (
    select * from jsonb_to_recordset(cast(:attempts as jsonb)) as a
      (request_id uuid, file_id text, is_first boolean, is_last boolean)
  ), before as materialized (
    select f.request_id, f.file_id, f.state from data_out.request_files f
    join attempts a on a.request_id = f.request_id and a.file_id = f.file_id
    order by f.request_id, f.file_id for update of f
  ), tried as (
    update data_out.request_files f set
      state = ${stateAfter('b', 'attempted_first')},
      reason = case b.state when 'given_up' then null else f.reason end,
      tried_at = now(), is_last_try = a.is_last, updated_at = now()
    from before b join attempts a on a.request_id = b.request_id and a.file_id = b.file_id
    where f.request_id = b.request_id and f.file_id = b.file_id
      and (${takes('b', 'attempted')} or a.is_first and ${takes('b', 'attempted_first')})
    returning f.request_id, b.state as was
  ), raised as (
    ${raiseRevision("select t.request_id from tried t where t.was = 'given_up'")}
  )`;

/** For the query that finds the files of the attempts. */
export const noteAttempts = { sql: noteSql, rows: attemptRows };

function attemptRows(attempts: readonly Attempt[]): { readonly json: unknown } {
  const rows = attempts.map(({ exportId, fileId, isFirst, isLast }) => ({
    request_id: exportId,
    file_id: fileId,
    is_first: isFirst,
    is_last: isLast,
  }));
  return { json: rows };
}
