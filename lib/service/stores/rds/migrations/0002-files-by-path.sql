-- htsget finds a file and its index by the submitter's path. Paths can be longer than an entry of a B-tree.

-- statement: a file by the submitter's path
create index if not exists data_out_files_by_path on sda.files using hash (submission_file_path);
