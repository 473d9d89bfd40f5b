import type { Attempt } from '../../../export/ports.ts';

/** Whether a row of `data_out.request_files` is open, in the words of its partial indexes. */
export const isOpen = (row: string) => `${row}.state in ('pending', 'retrying')`;

/** Whether the request of the expression `request` has an open file. */
export const hasOpenFiles = (request: string) => `exists (
  select from data_out.request_files o where o.request_id = ${request} and ${isOpen('o')})`;

/**
 * Whether a request may be settled: every open file that it has may be in flight at this moment, so that the caller may be
 * the last. If not, another file is still to come, and its delivery will ask again. It looks at one row more than
 * `mostInFlight`.
 *
 * @param others condition on the open rows `o` that count
 */
export const maySettle = (request: string, mostInFlight: number, others = 'true') => `(
  select count(*) <= ${mostInFlight} and not coalesce(bool_or(held.tried_at is null), false)
  from (
    select o.tried_at from data_out.request_files o
    where o.request_id = ${request} and ${isOpen('o')} and ${others}
    limit ${mostInFlight + 1}
  ) held)`;

/**
 * Raises the generation of requests whose files change after they were settled. A request with open files has raised it
 * already, or was never settled. If it is closed all the same, it was settled while another statement opened the file.
 *
 * @param changed query of their ids
 */
export const raiseGeneration = (changed: string) => `update data_out.requests r
  set generation = r.generation + 1, updated_at = now()
  where r.request_id in (${changed})
    and (r.settled_generation >= r.generation or not ${hasOpenFiles('r.request_id')})`;

/**
 * Common table expressions that note the attempts of the parameter `attempts`. A file that was given up is open again when
 * its message comes for the first time: it was moved back from the dead letters. Rows are locked in order, so that two
 * statements with the same rows cannot wait for each other.
 */
export const noteAttempts = `attempts as materialized (
    select * from jsonb_to_recordset(cast(:attempts as jsonb)) as a
      (request_id uuid, file_id text, is_first boolean, is_last boolean)
  ), before as materialized (
    select f.request_id, f.file_id, f.state from data_out.request_files f
    join attempts a on a.request_id = f.request_id and a.file_id = f.file_id
    order by f.request_id, f.file_id for update of f
  ), tried as (
    update data_out.request_files f set
      state = case b.state when 'given_up' then 'pending' else b.state end,
      reason = case b.state when 'given_up' then null else f.reason end,
      tried_at = now(), is_last_try = a.is_last, updated_at = now()
    from before b join attempts a on a.request_id = b.request_id and a.file_id = b.file_id
    where f.request_id = b.request_id and f.file_id = b.file_id
      and (${isOpen('b')} or (b.state = 'given_up' and a.is_first))
    returning f.request_id, b.state as was
  ), raised as (
    ${raiseGeneration("select t.request_id from tried t where t.was = 'given_up'")}
  )`;

/** The value of the parameter `attempts`. */
export function attemptRows(attempts: readonly Attempt[]): { readonly json: unknown } {
  const rows = attempts.map(({ requestId, fileId, isFirst, isLast }) => ({
    request_id: requestId,
    file_id: fileId,
    is_first: isFirst,
    is_last: isLast,
  }));
  return { json: rows };
}
