-- statement: nothing asks for files of the same content any more
drop index if exists sda.data_out_files_by_checksum;
