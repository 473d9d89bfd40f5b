import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RdsArchiveInventory } from '../../../../lib/ops/catalogue/inventory.ts';
import { RdsArchiveWriter } from '../../../../lib/ops/catalogue/writer.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';

let test: TestDatabase;
let inventory: RdsArchiveInventory;
let writer: RdsArchiveWriter;
beforeAll(async () => {
  test = await TestDatabase.shared();
  inventory = new RdsArchiveInventory(test.dataApi());
  writer = new RdsArchiveWriter(test.dataApi());
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(async () => {
  await test.sql('truncate sda.datasets, sda.files, sda.encryption_keys cascade');
});

const register = (fileId: string, datasetId: string, decryptedFileSize = 10) =>
  writer.registerFile({
    fileId,
    datasetId,
    submissionFilePath: 'a/b.vcf',
    archiveFilePath: `bodies/${fileId}`,
    archiveLocation: 'https://s3.example/archive',
    archiveFileSize: decryptedFileSize + 28,
    decryptedFileSize,
    header: Uint8Array.of(1),
    keyHash: 'cafe',
    checksums: [
      { source: 'ARCHIVED', type: 'SHA256', checksum: 'bb' },
      { source: 'UNENCRYPTED', type: 'MD5', checksum: 'cc' },
      { source: 'UNENCRYPTED', type: 'SHA256', checksum: 'AA' },
    ],
  });

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

describe('findFile', () => {
  it('gives the file with its plaintext digest and all its datasets', async () => {
    await register('EGAF1', 'EGAD2');
    await writer.addToDataset('EGAF1', 'EGAD1');
    expect(await inventory.findFile('EGAF1')).toEqual({
      fileId: 'EGAF1',
      submissionFilePath: 'a/b.vcf',
      archiveFilePath: 'bodies/EGAF1',
      archiveLocation: 'https://s3.example/archive',
      archiveFileSize: 38,
      decryptedFileSize: 10,
      keyHash: 'cafe',
      unencryptedSha256: 'aa',
      datasetIds: ['EGAD1', 'EGAD2'],
      releasedIn: [],
    });
    await writer.appendDatasetEvent('EGAD2', 'released');
    expect(await inventory.findFile('EGAF1')).toMatchObject({ releasedIn: ['EGAD2'] });
  });
});

describe('files', () => {
  it('lists all in the order of their ids, or those of a dataset', async () => {
    await register('EGAF2', 'EGAD1');
    await register('EGAF1', 'EGAD2');
    await writer.addToDataset('EGAF1', 'EGAD1');
    await register('EGAF3', 'EGAD2');
    await test.sql("insert into sda.files (stable_id) values (null), ('EGAF4')");
    const listed = { submissionFilePath: 'a/b.vcf', submissionFileSize: undefined, decryptedFileSize: 10 };
    const [one, two] = [
      { fileId: 'EGAF1', ...listed, datasetIds: ['EGAD1', 'EGAD2'] },
      { fileId: 'EGAF2', ...listed, datasetIds: ['EGAD1'] },
    ];
    const ofDataset = await all(inventory.files('EGAD1'));
    expect(ofDataset.toSorted((a, b) => (a.fileId < b.fileId ? -1 : 1))).toEqual([one, two]);
    expect(await all(inventory.files())).toEqual([
      one,
      two,
      { fileId: 'EGAF3', ...listed, datasetIds: ['EGAD2'] },
      { fileId: 'EGAF4', submissionFilePath: '', datasetIds: [] },
    ]);
    expect(await all(inventory.files('EGAD404'))).toEqual([]);
  });

  it('lists each once over pages, also where long paths fill a page early', async () => {
    await test.sql(
      `insert into sda.files (stable_id, submission_file_path)
       select 'EGAF' || lpad(n::text, 5, '0'), repeat('x', 4096) from generate_series(1, 1201) n`,
    );
    const ids = (await all(inventory.files())).map(({ fileId }) => fileId);
    expect(ids).toEqual(Array.from({ length: 1201 }, (_, index) => `EGAF${String(index + 1).padStart(5, '0')}`));
    await test.sql("insert into sda.datasets (id, stable_id) values (1, 'EGAD1')");
    await test.sql('insert into sda.file_dataset (file_id, dataset_id) select id, 1 from sda.files');
    expect((await all(inventory.files('EGAD1'))).map(({ fileId }) => fileId).sort()).toEqual(ids);
  });
});

describe('addToDataset', () => {
  it('makes a new dataset known, and changes nothing the second time', async () => {
    await register('EGAF1', 'EGAD1');
    await writer.addToDataset('EGAF1', 'EGAD2');
    await writer.addToDataset('EGAF1', 'EGAD2');
    expect((await inventory.findFile('EGAF1'))?.datasetIds).toEqual(['EGAD1', 'EGAD2']);
    expect(await test.sql('select dataset_id, event from sda.dataset_event_log order by 1')).toEqual([
      ['EGAD1', 'registered'],
      ['EGAD2', 'registered'],
    ]);
  });

  it('makes no dataset for an unknown file', async () => {
    await expect(writer.addToDataset('EGAF404', 'EGAD1')).rejects.toThrow(
      expect.objectContaining({ code: 'not_found' }),
    );
    expect(await test.sql('select * from sda.datasets')).toEqual([]);
  });
});

describe('datasets', () => {
  it('sums up files and bytes, beyond 32 bits', async () => {
    await register('EGAF1', 'EGAD1', 5_000_000_000);
    await register('EGAF2', 'EGAD1', 5_000_000_001);
    await writer.appendDatasetEvent('EGAD1', 'released');
    await writer.appendDatasetEvent('EGAD1', 'deprecated');
    const summary = { datasetId: 'EGAD1', newestEvent: 'deprecated', files: 2, bytes: 10_000_000_001 };
    expect(await inventory.findDataset('EGAD1')).toEqual(summary);
    expect(await all(inventory.datasets())).toEqual([summary]);
  });

  it('knows an empty one without events, and none that is unknown', async () => {
    await test.sql("insert into sda.datasets (stable_id) values ('EGAD1')");
    const summary = { datasetId: 'EGAD1', newestEvent: undefined, files: 0, bytes: 0 };
    expect(await inventory.findDataset('EGAD1')).toEqual(summary);
    expect(await inventory.findDataset('EGAD404')).toBeUndefined();
  });

  it('lists each once, in order, over pages', async () => {
    await test.sql(
      "insert into sda.datasets (stable_id) select 'EGAD' || lpad(n::text, 5, '0') from generate_series(1, 2001) n",
    );
    const ids = (await all(inventory.datasets())).map((dataset) => dataset.datasetId);
    expect(ids).toEqual(Array.from({ length: 2001 }, (_, index) => `EGAD${String(index + 1).padStart(5, '0')}`));
  });
});
