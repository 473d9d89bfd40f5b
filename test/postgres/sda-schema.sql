-- The tables of the neicnordic "sda" schema that this service's queries touch, and those they refer to, as version 27 has
-- them: names, types, constraints, and the one trigger that an update of a file sets off.

create schema sda;

create type sda.checksum_algorithm as enum ('MD5', 'SHA256', 'SHA384', 'SHA512');
create type sda.checksum_source as enum ('UPLOADED', 'ARCHIVED', 'UNENCRYPTED');

create table sda.dbschema_version (version integer primary key, applied timestamptz, description varchar(1024));
insert into sda.dbschema_version values (27, now(), 'as of that version');

create table sda.datasets (
  id serial primary key,
  stable_id text unique,
  title text,
  description text,
  created_at timestamptz not null default clock_timestamp()
);

create table sda.encryption_keys (
  key_hash text primary key,
  created_at timestamptz not null default clock_timestamp(),
  deprecated_at timestamptz,
  description text
);

create table sda.file_events (id serial primary key, title varchar(64) unique, description text);
insert into sda.file_events (id, title) values (10, 'uploaded'), (50, 'verified'), (70, 'ready');

create table sda.files (
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
  submission_file_root_dir text generated always as (split_part(submission_file_path, '/', 1)) stored,
  archive_location text,
  backup_location text,
  submission_location text,
  last_event text references sda.file_events (title),
  created_by name default current_user,
  last_modified_by name default current_user,
  created_at timestamptz not null default clock_timestamp(),
  last_modified timestamptz not null default clock_timestamp(),
  constraint unique_ingested unique (submission_file_path, archive_file_path)
);

create function sda.files_updated() returns trigger language plpgsql as $body$
begin
  new.last_modified := clock_timestamp();
  new.last_modified_by := current_user;
  return new;
end
$body$;
create trigger files_last_modified before update on sda.files for each row execute function sda.files_updated();

create table sda.checksums (
  id serial primary key,
  file_id uuid references sda.files (id),
  checksum text,
  type sda.checksum_algorithm,
  source sda.checksum_source,
  constraint unique_checksum unique (file_id, type, source)
);

-- The time of expiry has no time zone here.
create table sda.dataset_references (
  id serial primary key,
  dataset_id integer references sda.datasets (id),
  reference_id text not null,
  reference_scheme text not null,
  created_at timestamptz not null default clock_timestamp(),
  expired_at timestamp
);

create table sda.file_dataset (
  id serial primary key,
  file_id uuid not null references sda.files (id),
  dataset_id integer not null references sda.datasets (id),
  download_path text,
  constraint unique_file_dataset unique (file_id, dataset_id)
);

create table sda.dataset_events (id serial primary key, title varchar(64) unique, description text);
insert into sda.dataset_events (id, title) values (10, 'registered'), (20, 'released'), (30, 'deprecated');

create table sda.dataset_event_log (
  id serial primary key,
  dataset_id text references sda.datasets (stable_id),
  event text references sda.dataset_events (title),
  message jsonb,
  event_date timestamptz not null default clock_timestamp()
);
