import { expect, test } from 'vitest';
import { exportCatalogue } from '../../lib/service/catalogue/export-catalogue.ts';
import { noteAttempts } from '../../lib/service/ledger/ledger.ts';
import { TestDatabase } from '../helpers/data-api.ts';

test('a header of the limit is read whole', async () => {
  await using database = await TestDatabase.migrated();
  for (const statement of [
    // Headers of a pipeline hardly compress. Of text that does, PostgreSQL unpacks all that is before a slice.
    'alter table sda.files alter column header set storage external',
    "insert into sda.datasets (id, stable_id) values (1, 'EGAD1')",
    "insert into sda.dataset_event_log (id, dataset_id, event, event_date) values (1, 'EGAD1', 'released', now())",
    `insert into sda.files (stable_id, archive_file_path, archive_file_size, header)
     values ('EGAF1', 'body', 10, repeat('0a', 1500000))`,
    'insert into sda.file_dataset (file_id, dataset_id) select id, 1 from sda.files',
  ]) {
    await database.sql(statement);
  }
  const catalogue = exportCatalogue(database.dataApi(), noteAttempts);
  const file = await catalogue.findReleasedFile({ fileId: 'EGAF1', datasetId: 'EGAD1' });
  expect(Buffer.compare(file?.header ?? Buffer.alloc(0), Buffer.alloc(1_500_000, 0x0a))).toBe(0);
});
