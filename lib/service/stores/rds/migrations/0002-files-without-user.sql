-- statement: a file by its path without a folder of the form user_domain, as sda-cli asks for it. Paths can be longer than an entry of a B-tree
create index if not exists data_out_files_without_user
  on sda.files using hash (regexp_replace(submission_file_path, '^[^/_]+_[^/_]+/', ''));

-- statement: without statistics of this expression, the planner expects thousands of files at one path
analyze sda.files;
