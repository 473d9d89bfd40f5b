import {
  type Columns,
  type FileEvent,
  fileTransitions,
  hasOpenFiles,
  isOpen,
  isReceiptOwed,
  type Phase,
  phases,
  quoted,
  type RequestEvent,
  requestTransitions,
  type Steps,
} from './transitions.ts';

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

/** The state of a file that takes the event. */
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
 * @param given row or expression with the columns whose values come with the event
 */
export function fileAssignments(event: FileEvent, given: string | ((column: string) => string) = 'excluded'): string {
  const { given: columns = [], set = {} } = fileTransitions[event];
  const expression = typeof given === 'string' ? (column: string) => `${given}.${column}` : given;
  const values = Object.fromEntries(columns.map((column) => [column, expression(column)]));
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

/** The assignments of an event, for an update of the request of the row `r`. */
export function assignments(event: RequestEvent): string {
  const { set, isQuiet } = requestTransitions[event];
  return listed({ ...phaseAssignments(event), ...set, ...(!isQuiet && { updated_at: 'now()' }) });
}

/** The statement by which an event changes requests `r`. @param which condition on their rows */
export const change = (event: RequestEvent, which: string) =>
  `update data_out.requests r set ${assignments(event)} where ${which} and ${requestTakes(event)}`;

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
 * Whether the request `r` can be finalized: every open file that it has may be in flight at this moment, so that the caller may be
 * the last. If not, another file is still to come, and its delivery will ask again. It looks at one row more than
 * `mostInFlight`.
 *
 * @param others condition on the open rows `o` that count
 */
export const mayFinalize = (mostInFlight: number, others = 'true') => `(
  select count(*) <= ${mostInFlight} and not coalesce(bool_or(counted.tried_at is null), false)
  from (
    select o.tried_at from data_out.request_files o
    where o.request_id = r.request_id and ${isOpen('o')} and ${others}
    limit ${mostInFlight + 1}
  ) counted)`;
