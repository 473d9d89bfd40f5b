-- Version 23 of the "sda" schema says of each file which bucket its body is in. Where the ingestion pipeline made the
-- column, nothing is changed.

-- statement
alter table sda.files add column if not exists archive_location text;
