-- What requests of a million files need. The fan-out pages by the row ids of files: a position that is a stable id would be of
-- no use to it.

-- statement: how far a fan-out that is given up has closed the files that it did not send, how many these are, and at which
-- receive of its message the fan-out came further
alter table data_out.requests
  add column if not exists closed_to uuid,
  add column if not exists closed integer not null default 0,
  add column if not exists came_further_at integer not null default 0;

-- statement: a fan-out under way begins again. It sends no file to be staged twice, because staging is idempotent. One that was
-- given up begins again when its message is replayed. Until then its files are those that have a row
update data_out.requests r set sent_to = '', files = 0,
  closed = case when sealed_at is null then 0
    else (select count(*) from data_out.request_files f where f.request_id = r.request_id) end
where sent_to <> '' and (sealed_at is null or state in ('rejected', 'failed'));

-- statement: deletes what is older, the oldest first. A request goes after its files, of which one call deletes at most 5,000
create or replace function data_out.delete_expired(most_requests integer, most_events integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  oldest timestamptz;
  expired uuid[];
  files integer;
  requests integer;
  events integer;
begin
  select now() - make_interval(days => r.days) into oldest from data_out.retention r;
  if oldest is null then
    return 0;
  end if;
  select array_agg(o.request_id) into expired from (
    select r.request_id
    from data_out.requests r
    -- The condition of the index `requests_closed`.
    where (r.state = 'rejected' or r.settled_generation >= r.generation or r.recipient is null)
      and r.updated_at < oldest
    order by r.updated_at
    limit most_requests for update) o;
  delete from data_out.request_files f
  where (f.request_id, f.file_id) in (
    select e.request_id, x.file_id
    from unnest(expired) e (request_id)
    cross join lateral (select o.file_id from data_out.request_files o where o.request_id = e.request_id limit 5000) x
    limit 5000);
  get diagnostics files = row_count;
  delete from data_out.uploads u where u.request_id = any (expired);
  delete from data_out.requests r
  where r.request_id = any (expired)
    and not exists (select from data_out.request_files f where f.request_id = r.request_id);
  get diagnostics requests = row_count;
  delete from data_out.export_log l
  where l.id in (
    select o.id from (select id, recorded_at from data_out.export_log order by id limit most_events) o where o.recorded_at < oldest);
  get diagnostics events = row_count;
  return files + requests + events;
end
$$;
