-- What an operator asks the audit trail for, newest first: one dataset or one file. A request is found by
-- export_log_once.

-- statement
create index if not exists export_log_of_dataset on data_out.export_log (dataset_id, id desc);

-- statement
create index if not exists export_log_of_file on data_out.export_log (file_id, id desc);

-- statement: it was ordered by time, which no query asks for
drop index if exists data_out.export_log_by_dataset;
