-- What the queries need beside the unique constraints of the tables. Making an index on a filled table of a pipeline
-- holds back writers of that table for as long as it takes: seconds for millions of rows.

-- statement: the newest event of a dataset
create index if not exists data_out_newest_dataset_event
  on sda.dataset_event_log (dataset_id, event_date desc nulls last, id desc);

-- statement: the files of a dataset; the unique constraint begins with the file
create index if not exists data_out_files_of_dataset on sda.file_dataset (dataset_id, file_id);

-- statement: a dataset by one of its other names
create index if not exists data_out_dataset_by_reference on sda.dataset_references (reference_id);
