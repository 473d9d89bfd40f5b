-- What became of each export request and of each of its files. `data_out.fan_outs` is no longer used. A later migration
-- drops it, because functions of the previous version still run while this one is applied.

-- statement: one row for each request that the consumer has decided on
create table if not exists data_out.requests (
  request_id uuid primary key,
  requested_at timestamptz not null,
  archive_kind text,
  kind text check (kind in ('dataset', 'file')),
  dataset_id text,
  file_id text,
  recipient text,
  key_fingerprint text,
  state text not null
    check (state in ('accepted', 'rejected', 'complete', 'incomplete', 'failed', 'withdrawn')),
  reason text,
  generation integer not null default 1,
  files integer not null default 0,
  sent_to text not null default '',
  sealed_at timestamptz,
  tried_at timestamptz,
  is_last_try boolean not null default false,
  settled_at timestamptz,
  settled_generation integer not null default 0,
  receipt_generation integer not null default 0,
  staged integer,
  staged_bytes bigint,
  updated_at timestamptz not null default now()
);

-- statement: the newest requests first
create index if not exists requests_by_time on data_out.requests (requested_at desc, request_id desc);

-- statement: the requests of one recipient, newest first
create index if not exists requests_of_recipient on data_out.requests (recipient, requested_at desc);

-- statement: the requests of one dataset, newest first
create index if not exists requests_of_dataset on data_out.requests (dataset_id, requested_at desc);

-- statement: what the sweep looks at
create index if not exists requests_unsettled on data_out.requests (updated_at)
  where state <> 'rejected' and settled_generation < generation;

-- statement: one row for each file of a request
create table if not exists data_out.request_files (
  request_id uuid not null,
  file_id text not null,
  state text not null check (
    state in ('pending', 'retrying', 'staged', 'superseded', 'withdrawn', 'rejected', 'given_up')),
  reason text,
  superseded_by uuid,
  outbox_key text,
  bytes bigint,
  crc64nvme text,
  header_sha256 text,
  tried_at timestamptz,
  is_last_try boolean not null default false,
  updated_at timestamptz not null default now(),
  primary key (request_id, file_id)
);

-- statement: whether a request has files that are not settled
create index if not exists request_files_open on data_out.request_files (request_id)
  where state in ('pending', 'retrying');

-- statement: whose last attempt ended without a word
create index if not exists request_files_last_try on data_out.request_files (tried_at)
  where state in ('pending', 'retrying') and is_last_try;

-- statement: the requests that wrote one object of the outbox
create index if not exists request_files_in_outbox on data_out.request_files (outbox_key)
  where state in ('staged', 'superseded');

-- statement: what the audit trail has of one recipient, newest first
create index if not exists export_log_of_recipient on data_out.export_log (recipient, id desc);

-- statement: more events in the audit trail
alter table data_out.export_log drop constraint if exists export_log_event_check;

-- statement
alter table data_out.export_log add constraint export_log_event_check check (
  event in ('accepted', 'rejected', 'staged', 'given_up', 'failed', 'settled', 'withdrawn', 'purged', 'removed'));
