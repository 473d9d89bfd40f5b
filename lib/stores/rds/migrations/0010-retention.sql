-- How long rows about requests are kept, and what deletes them. Functions may ask for the deletion. They cannot change how
-- long rows are kept, and delete no row themselves.

-- statement: at most one row; without it everything is kept
create table if not exists data_out.retention (
  only_row boolean primary key default true check (only_row),
  days integer not null check (days >= 30)
);

-- statement: no function of the previous version uses it
drop table if exists data_out.fan_outs;

-- statement: the requests that may be deleted, so that those that stay are never looked at. A request whose recipient was erased
-- is never settled again
create index if not exists requests_closed on data_out.requests (updated_at)
  where state = 'rejected' or settled_generation >= generation or recipient is null;

-- statement: deletes what is older, the oldest first: at most so many requests, and so many rows of the audit trail
create or replace function data_out.delete_expired(most_requests integer, most_events integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  oldest timestamptz;
  requests integer;
  events integer;
begin
  select now() - make_interval(days => r.days) into oldest from data_out.retention r;
  if oldest is null then
    return 0;
  end if;
  with expired as materialized (
    select r.request_id
    from data_out.requests r
    -- The condition of the index `requests_closed`.
    where (r.state = 'rejected' or r.settled_generation >= r.generation or r.recipient is null)
      and r.updated_at < oldest
    order by r.updated_at
    limit most_requests for update
  ), files as (
    delete from data_out.request_files f using expired e where f.request_id = e.request_id
  ), uploads as (
    delete from data_out.uploads u using expired e where u.request_id = e.request_id
  )
  delete from data_out.requests r using expired e where r.request_id = e.request_id;
  get diagnostics requests = row_count;
  delete from data_out.export_log l
  where l.id in (
    select o.id from (select id, recorded_at from data_out.export_log order by id limit most_events) o where o.recorded_at < oldest);
  get diagnostics events = row_count;
  return requests + events;
end
$$;

-- statement
revoke all on function data_out.delete_expired(integer, integer) from public;

-- statement: one more event in the audit trail
alter table data_out.export_log drop constraint if exists export_log_event_check;

-- statement
alter table data_out.export_log add constraint export_log_event_check check (
  event in ('accepted', 'rejected', 'staged', 'given_up', 'failed', 'settled', 'withdrawn', 'purged', 'removed', 'erased'));
