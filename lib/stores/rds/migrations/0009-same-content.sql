-- A file that is added twice under two ids is noticed by its checksums. The unique constraint begins with the file.

-- statement
create index if not exists data_out_files_by_checksum on sda.checksums (lower(checksum));
