-- Copies of large files that one invocation does not finish.

-- statement: one row for each large file of a request, until it is staged or rejected
create table if not exists data_out.uploads (
  request_id uuid not null,
  file_id text not null,
  holder uuid not null,
  fruitless integer not null,
  taken_at timestamptz not null default now(),
  outbox_key text,
  upload_id text,
  source_etag text,
  header_digest text,
  part_size bigint,
  parts jsonb not null default '{}',
  primary key (request_id, file_id)
);

-- statement: the checksum that S3 compared when it made a container visible
alter table data_out.export_log add column if not exists checksum text;
