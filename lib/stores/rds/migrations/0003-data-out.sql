-- This service's own tables.

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
  event text not null check (event in ('accepted', 'rejected', 'staged')),
  reason text,
  archive_kind text,
  dataset_id text,
  file_id text,
  recipient text,
  key_fingerprint text,
  bytes bigint,
  recorded_at timestamptz not null default now()
);

-- statement: an event recorded twice leaves one row; a request as a whole has no file
create unique index if not exists export_log_once
  on data_out.export_log (request_id, event, coalesce(file_id, ''));

-- statement: what happened to a dataset, newest first
create index if not exists export_log_by_dataset on data_out.export_log (dataset_id, recorded_at desc);
