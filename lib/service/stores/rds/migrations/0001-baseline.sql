-- The part of the neicnordic "sda" schema (version 24) that this service reads, and the service's own tables. Where an ingestion
-- pipeline already made objects of "sda", nothing is changed, apart from the column `archive_location` and indexes. Its own
-- version table is left to it: a row there would tell its migrations that things exist which this file does not make. Each
-- statement follows a line that begins with "-- statement".

-- statement
create schema if not exists sda;

-- statement: there is no "create type if not exists"
do $$
begin
  create type sda.checksum_algorithm as enum ('MD5', 'SHA256', 'SHA384', 'SHA512');
exception when duplicate_object then null;
end
$$;

-- statement
do $$
begin
  create type sda.checksum_source as enum ('UPLOADED', 'ARCHIVED', 'UNENCRYPTED');
exception when duplicate_object then null;
end
$$;

-- statement
create table if not exists sda.datasets (
  id serial primary key,
  stable_id text unique,
  title text,
  description text,
  created_at timestamptz default clock_timestamp()
);

-- statement
create table if not exists sda.encryption_keys (
  key_hash text primary key,
  created_at timestamptz not null default clock_timestamp(),
  deprecated_at timestamptz,
  description text
);

-- statement
create table if not exists sda.files (
  id uuid primary key default gen_random_uuid(),
  stable_id text unique,
  submission_user text,
  submission_file_path text not null default '',
  submission_file_size bigint,
  archive_file_path text not null default '',
  archive_file_size bigint,
  decrypted_file_size bigint,
  backup_path text,
  header text,
  encryption_method text,
  key_hash text references sda.encryption_keys (key_hash),
  created_by name default current_user,
  last_modified_by name default current_user,
  created_at timestamptz default clock_timestamp(),
  last_modified timestamptz default clock_timestamp()
);

-- statement
create table if not exists sda.checksums (
  id serial primary key,
  file_id uuid not null references sda.files (id),
  checksum text,
  type sda.checksum_algorithm,
  source sda.checksum_source,
  constraint unique_checksum unique (file_id, type, source)
);

-- statement
create table if not exists sda.dataset_references (
  id serial primary key,
  dataset_id integer not null references sda.datasets (id),
  reference_id text not null,
  reference_scheme text not null,
  created_at timestamptz default clock_timestamp(),
  expired_at timestamptz
);

-- statement
create table if not exists sda.file_dataset (
  id serial primary key,
  file_id uuid not null references sda.files (id),
  dataset_id integer not null references sda.datasets (id),
  constraint unique_file_dataset unique (file_id, dataset_id)
);

-- statement
create table if not exists sda.dataset_events (
  id serial primary key,
  title varchar(64) unique,
  description text
);

-- statement
insert into sda.dataset_events (id, title, description) values
  (10, 'registered', 'the dataset is known'),
  (20, 'released', 'the dataset may be given out'),
  (30, 'deprecated', 'the dataset may no longer be given out')
on conflict do nothing;

-- statement
create table if not exists sda.dataset_event_log (
  id serial primary key,
  dataset_id text references sda.datasets (stable_id),
  event text references sda.dataset_events (title),
  message jsonb,
  event_date timestamptz default clock_timestamp()
);

-- statement: stops here, with the column's name, where an older pipeline's tables lack what the queries read
do $$
begin
  perform f.id, f.stable_id, f.submission_file_path, f.submission_file_size, f.archive_file_path, f.archive_file_size,
    f.decrypted_file_size, f.header, f.encryption_method, f.key_hash
  from sda.files f where false;
  perform d.id, d.stable_id from sda.datasets d where false;
  perform fd.file_id, fd.dataset_id from sda.file_dataset fd where false;
  perform r.dataset_id, r.reference_id, r.reference_scheme, r.expired_at from sda.dataset_references r where false;
  perform e.id, e.dataset_id, e.event, e.event_date from sda.dataset_event_log e where false;
  perform c.file_id, c.checksum, c.type, c.source from sda.checksums c where false;
  perform k.key_hash, k.description from sda.encryption_keys k where false;
end
$$;

-- statement: since version 23 of the schema it names the bucket of the body
alter table sda.files add column if not exists archive_location text;

-- The queries need these beside the unique constraints. Making an index on a filled table of a pipeline holds back writers of
-- that table for as long as it takes: seconds for millions of rows.

-- statement: the newest event of a dataset
create index if not exists data_out_newest_dataset_event
  on sda.dataset_event_log (dataset_id, event_date desc nulls last, id desc);

-- statement: the files of a dataset; the unique constraint begins with the file
create index if not exists data_out_files_of_dataset on sda.file_dataset (dataset_id, file_id);

-- statement: a dataset by one of its other names
create index if not exists data_out_dataset_by_reference on sda.dataset_references (reference_id);

-- statement: files of the same content; the unique constraint begins with the file
create index if not exists data_out_files_by_checksum on sda.checksums (lower(checksum));

-- statement: whether another file has the same body
create index if not exists data_out_files_by_body on sda.files (archive_file_path);

-- statement: a file by the submitter's path, which htsget looks for. Paths can be longer than an entry of a B-tree
create index if not exists data_out_files_by_path on sda.files using hash (submission_file_path);

-- statement: the central archive's Basic credentials; scrypt in PHC form, or bcrypt as the central archive hands them out
create table if not exists data_out.archive_users (
  username text primary key,
  password_hash text not null,
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);

-- statement: the audit trail
create table if not exists data_out.export_log (
  id bigint generated always as identity primary key,
  request_id uuid not null,
  event text not null check (event in (
    'accepted', 'rejected', 'staged', 'given_up', 'settled', 'withdrawn', 'purged', 'removed', 'erased')),
  reason text,
  archive_kind text,
  dataset_id text,
  file_id text,
  recipient text,
  key_fingerprint text,
  bytes bigint,
  recorded_at timestamptz not null default now(),
  checksum text
);

-- statement: an event recorded twice leaves one row; a request as a whole has no file
create unique index if not exists export_log_once
  on data_out.export_log (request_id, event, coalesce(file_id, ''));

-- statement: what an operator asks the audit trail for, newest first: one dataset, one file or one recipient. A request is found
-- by export_log_once
create index if not exists export_log_of_dataset on data_out.export_log (dataset_id, id desc);

-- statement
create index if not exists export_log_of_file on data_out.export_log (file_id, id desc);

-- statement
create index if not exists export_log_of_recipient on data_out.export_log (recipient, id desc);

-- An export is a request and its files. docs/ledger.md has their states; lib/service/export has every statement that changes them.

-- statement: one row for each request that was decided on
create table if not exists data_out.requests (
  request_id uuid primary key,
  requested_at timestamptz not null,
  archive_kind text,
  kind text check (kind in ('dataset', 'file')),
  dataset_id text,
  file_id text,
  recipient text,
  key_fingerprint text,
  -- The recipient's key in base64. Messages carry neither it nor the visa.
  public_key text,
  -- A JSON array of the hashes by which the deny list knows the visa, besides the recipient.
  depends_on jsonb,
  visa_expires_at timestamptz,
  state text not null check (state in ('accepted', 'rejected', 'complete', 'incomplete', 'withdrawn')),
  reason text,
  -- It rises when a file changes after its end. A request is settled when settled_revision is the same.
  revision integer not null default 1,
  settled_revision integer not null default 0,
  settled_at timestamptz,
  files integer not null default 0,
  staged integer,
  staged_bytes bigint,
  -- Outbox name of the delivery receipt.
  receipt text
);

-- statement: the newest requests first
create index if not exists requests_by_time on data_out.requests (requested_at desc, request_id desc);

-- statement: the requests of one recipient, newest first
create index if not exists requests_of_recipient on data_out.requests (recipient, requested_at desc);

-- statement: the requests of one dataset, newest first
create index if not exists requests_of_dataset on data_out.requests (dataset_id, requested_at desc);

-- statement: what the sweep looks at
create index if not exists requests_unsettled on data_out.requests (requested_at) where settled_revision < revision;

-- statement: the requests that may be deleted, so that those that stay are never looked at
create index if not exists requests_settled on data_out.requests (settled_at) where settled_revision >= revision;

-- statement: one row for each file of an accepted request
create table if not exists data_out.request_files (
  request_id uuid not null,
  file_id text not null,
  state text not null
    check (state in ('waiting', 'sent', 'staged', 'superseded', 'withdrawn', 'rejected', 'given_up')),
  reason text,
  superseded_by uuid,
  outbox_key text,
  -- Of the container; until it is staged, the size that the catalogue lets expect.
  bytes bigint,
  crc64nvme text,
  header_sha256 text,
  -- An unfinished copy of a large body, and a digest of what it is made from.
  upload_id text,
  upload_for text,
  changed_at timestamptz not null default now(),
  primary key (request_id, file_id)
);

-- statement: the open files of a request, and those of them whose messages are still to be sent
create index if not exists request_files_open on data_out.request_files (request_id, state, file_id)
  where state in ('waiting', 'sent');

-- statement: the requests that wrote one object of the outbox
create index if not exists request_files_in_outbox on data_out.request_files (outbox_key)
  where state in ('staged', 'superseded');

-- How long rows about requests are kept, and what deletes them. Functions can ask for the deletion. They cannot change how long
-- rows are kept, and delete no row themselves.

-- statement: at most one row; without it everything is kept
create table if not exists data_out.retention (
  only_row boolean primary key default true check (only_row),
  days integer not null check (days >= 30)
);

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
    where r.settled_revision >= r.revision and r.settled_at < oldest
    order by r.settled_at
    limit most_requests for update) o;
  delete from data_out.request_files f
  where (f.request_id, f.file_id) in (
    select e.request_id, x.file_id
    from unnest(expired) e (request_id)
    cross join lateral (select o.file_id from data_out.request_files o where o.request_id = e.request_id limit 5000) x
    limit 5000);
  get diagnostics files = row_count;
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

-- statement
revoke all on function data_out.delete_expired(integer, integer) from public;
