-- The part of the neicnordic "sda" schema (version 24) that this service reads. Where an ingestion pipeline already made
-- these objects, nothing is changed. Its own version table is left to it: a row there would tell its migrations that
-- things exist which this file does not make. Each statement follows a line that begins with "-- statement".

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
