-- What the operator's tool looks for when it adds and removes files.

-- statement: files of the same content; the unique constraint begins with the file
create index if not exists data_out_files_by_checksum on sda.checksums (lower(checksum));

-- statement: whether another file has the same body
create index if not exists data_out_files_by_body on sda.files (archive_file_path);
