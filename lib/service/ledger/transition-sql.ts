import type { Attempt } from '../export/ports.ts';
import {
  type Columns,
  type FileEvent,
  fileTransitions,
  hasOpenFiles,
  isOpen,
  isReceiptOwed,
  type Phase,
  phases,
  type RequestEvent,
  requestTransitions,
  type Steps,
  takes,
} from './transitions.ts';

const quoted = (value: string) => `'${value}'`;

/** The steps from rows that exist. */
function stepsOf<S extends string>(steps: Steps<S>): readonly (readonly [from: S, to: S])[] {
  return (Object.entries(steps) as [S | 'absent', S][]).flatMap(([from, to]) =>
    from === 'absent' ? [] : [[from, to]],
  );
}

const listed = (columns: Columns) =>
  Object.entries(columns)
    .map(([column, value]) => `${column} = ${value}`)
    .join(', ');

/** The state of a file that {@link takes} the event. */
export function stateAfter(row: string, event: FileEvent): string {
  const steps = stepsOf(fileTransitions[event].steps);
  return `case ${row}.state ${steps.map(([from, to]) => `when ${quoted(from)} then ${quoted(to)}`).join(' ')} end`;
}

/** The state of a new row of a file. */
export function newState(event: FileEvent) {
  const { absent: state } = fileTransitions[event].steps;
  if (!state) throw new TypeError(`no file begins with the event ${event}`);
  return state;
}

/** How an attempt can end, in the words of `FileEnd.state`. */
export const ends = ['failed', 'staged', 'superseded', 'rejected', 'given_up'] as const satisfies readonly FileEvent[];

/** Whether one of the events makes of the file of the row `before` what the row `after` says. */
export function takesOneOf(events: readonly FileEvent[], before: string, after: string): string {
  const steps = events.flatMap((event) => stepsOf(fileTransitions[event].steps));
  const pairs = steps.map(([from, to]) => `(${quoted(from)}, ${quoted(to)})`);
  return `(${before}.state, ${after}.state) in (${[...new Set(pairs)].join(', ')})`;
}

/**
 * The assignments of an event besides the state, for an update of the file of the row `f`.
 *
 * @param given expression for a column whose value comes with the event
 */
export function fileAssignments(event: FileEvent, given: (column: string) => string): string {
  const { given: columns = [], set = {} } = fileTransitions[event];
  const values = Object.fromEntries(columns.map((column) => [column, given(column)]));
  return listed({ ...values, ...set, updated_at: 'now()' });
}

const isIn = (some: readonly Phase[]) => {
  const pairs = some.flatMap((phase) => phases[phase].map(([state, open]) => `('${state}', ${open})`));
  return `(r.state, r.sealed_at is null) in (${pairs.join(', ')})`;
};

/** Whether an event changes the request of the row `r`. */
export function requestTakes(event: RequestEvent): string {
  const { steps, when } = requestTransitions[event];
  const from = stepsOf(steps).map(([phase]) => phase);
  return when === undefined ? isIn(from) : `${isIn(from)} and ${when}`;
}

/** `state` and `sealed_at` of a phase. Where it has several states, the parameter `state` says which. */
function columnsOf(phase: Phase): { readonly state: string; readonly sealed_at: string } {
  const [[state, isFanningOut], ...others] = phases[phase];
  return { state: others.length > 0 ? ':state' : quoted(state), sealed_at: isFanningOut ? 'null' : 'now()' };
}

/** The assignments that lead from phase to phase: of each column that some step changes. A phase of several states can be entered again. */
function phaseAssignments(event: RequestEvent): Columns {
  const steps = stepsOf(requestTransitions[event].steps);
  const entered = new Set(steps.flatMap(([from, to]) => (from === to ? [] : [to])));
  const columns = (['state', 'sealed_at'] as const).flatMap((column) => {
    const changing = steps.filter(([from, to]) => {
      const value = columnsOf(to)[column];
      return entered.has(to) && (value === ':state' || value !== columnsOf(from)[column]);
    });
    const cases = changing.map(([from, to]) => `when ${isIn([from])} then ${columnsOf(to)[column]}`);
    return cases.length === 0 ? [] : [[column, `case ${cases.join(' ')} else r.${column} end`]];
  });
  return Object.fromEntries(columns);
}

/** The assignments of an event, for `update data_out.requests r set`. */
export function assignments(event: RequestEvent): string {
  const { set, isQuiet } = requestTransitions[event];
  return listed({ ...phaseAssignments(event), ...set, ...(!isQuiet && { updated_at: 'now()' }) });
}

/** What an event gives a new row of a request. */
export function newRow(event: RequestEvent): Columns {
  const { steps, add } = requestTransitions[event];
  if (!steps.absent) throw new TypeError(`no request begins with the event ${event}`);
  return { ...columnsOf(steps.absent), ...add };
}

/** A request of which something is still to be done, in the words of the partial index `requests_unfinalized`. */
export const isUnfinalized = `r.state <> 'rejected' and ${isReceiptOwed}`;

/** Whether nothing but its receipt is still to be done for a request `r`. */
export const isFinalizable = `${isUnfinalized} and r.sealed_at is not null and not ${hasOpenFiles('r.request_id')}`;

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
 * What the events of files are for their requests.
 *
 * @param changed query of the ids of the requests
 */
export const alsoFor = (changed: string, event: 'file_changed' | 'container_removed') => `update data_out.requests r
  set ${assignments(event)} where r.request_id in (${changed}) and ${requestTakes(event)}`;

const reopened = fileTransitions.attempted_first.alsoFrom ?? [];

/**
 * Common table expressions that note the attempts of the parameter `attempts`. A file that was given up is open again when
 * its message comes for the first time: it was moved back from the dead letters. Rows are locked in order, so that two
 * statements with the same rows cannot wait for each other.
 */
const noteSql = `attempts as materialized (
    select * from jsonb_to_recordset(cast(:attempts as jsonb)) as a
      (request_id uuid, file_id text, is_first boolean, is_last_try boolean)
  ), before as materialized (
    select f.request_id, f.file_id, f.state from data_out.request_files f
    join attempts a on a.request_id = f.request_id and a.file_id = f.file_id
    order by f.request_id, f.file_id for update of f
  ), tried as (
    update data_out.request_files f set
      state = ${stateAfter('b', 'attempted_first')}, ${fileAssignments('attempted_first', (column) => `a.${column}`)}
    from before b join attempts a on a.request_id = b.request_id and a.file_id = b.file_id
    where f.request_id = b.request_id and f.file_id = b.file_id
      and (${takes('b', 'attempted')} or a.is_first and ${takes('b', 'attempted_first')})
    returning f.request_id, b.state as was
  ), raised as (
    ${alsoFor(`select t.request_id from tried t where t.was in (${reopened.map(quoted).join(', ')})`, 'file_changed')}
  )`;

/** For the query that finds the files of the attempts. */
export const noteAttempts = { sql: noteSql, rows: attemptRows };

function attemptRows(attempts: readonly Attempt[]): { readonly json: unknown } {
  const rows = attempts.map(({ exportId, fileId, isFirst, isLast }) => ({
    request_id: exportId,
    file_id: fileId,
    is_first: isFirst,
    is_last_try: isLast,
  }));
  return { json: rows };
}
