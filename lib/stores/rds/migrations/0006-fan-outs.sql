-- How far the fan-out of an export request has come, so that a message that is delivered again goes on there.

-- statement: one row for each request of a dataset that has sent messages
create table if not exists data_out.fan_outs (
  request_id uuid not null,
  dataset_id text not null,
  sent_to text not null,
  files integer not null,
  saved_at timestamptz not null default now(),
  primary key (request_id, dataset_id)
);
