import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { directCatalogue } from '../../../../lib/service/catalogue/direct-catalogue.ts';
import type { DatasetFile, DirectCatalogue } from '../../../../lib/service/direct/ports.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';

let test: TestDatabase;
let catalogue: DirectCatalogue;

const sha256 = 'ab'.repeat(32);
const md5 = '0F'.repeat(16);
/** Rows as a pipeline writes them. `EGAL` has paths that would make a result of the Data API too long. */
const rows = [
  `insert into sda.datasets (id, stable_id) values (1, 'EGAD1'), (2, 'EGAL'), (3, 'EGAM'), (4, 'EGAN'), (5, 'EGAO')`,
  `insert into sda.dataset_event_log (dataset_id, event) values
    ('EGAD1', 'released'), ('EGAL', 'released'), ('EGAM', 'released'), ('EGAO', 'released')`,
  `insert into sda.files (id, stable_id, submission_file_path, archive_file_path, archive_file_size, decrypted_file_size,
     header, created_at)
   values
    ('00000000-0000-4000-8000-000000000001', 'EGAF1', 'a dir/ä.bam', 'body-1', 9007199254740991, 5, '00', '2026-01-02T03:04:05.678Z'),
    ('00000000-0000-4000-8000-000000000002', 'EGAF2', '', 'body-2', null, null, '00', null),
    ('00000000-0000-4000-8000-000000000003', null, 'no id', 'body-3', 1, 1, '00', now()),
    ('00000000-0000-4000-8000-000000000004', 'EGAF4', 'no body', '', 1, 1, '00', now()),
    ('00000000-0000-4000-8000-000000000005', 'EGAF5', 'no header', 'body-5', 1, 1, null, now())`,
  `insert into sda.file_dataset (file_id, dataset_id) select id, 1 from sda.files`,
  `insert into sda.checksums (file_id, checksum, type, source) values
    ('00000000-0000-4000-8000-000000000001', '${md5}', 'MD5', 'UNENCRYPTED'),
    ('00000000-0000-4000-8000-000000000001', '${sha256}', 'SHA256', 'UNENCRYPTED'),
    ('00000000-0000-4000-8000-000000000001', '${'cd'.repeat(32)}', 'SHA256', 'ARCHIVED'),
    ('00000000-0000-4000-8000-000000000001', '${'ef'.repeat(32)}', 'SHA256', 'UPLOADED'),
    ('00000000-0000-4000-8000-000000000002', 'not hex', 'SHA256', 'UNENCRYPTED'),
    ('00000000-0000-4000-8000-000000000002', null, 'MD5', 'UNENCRYPTED')`,
  `insert into sda.files (stable_id, submission_file_path, archive_file_path, archive_file_size, header)
   select 'EGAL' || n, n || repeat('é', 30000), 'b', n, '00' from generate_series(1, 40) n`,
  "insert into sda.file_dataset (file_id, dataset_id) select id, 2 from sda.files where stable_id like 'EGAL%'",
  `insert into sda.files (stable_id, submission_file_path, archive_file_path, archive_file_size, header)
   select 'EGAM' || n, 'dir/' || n, 'b', n, '00' from generate_series(1, 2500) n`,
  "insert into sda.file_dataset (file_id, dataset_id) select id, 3 from sda.files where stable_id like 'EGAM%'",
  "insert into sda.file_dataset (file_id, dataset_id) select id, 4 from sda.files where stable_id like 'EGAF%'",
];

beforeAll(async () => {
  test = await TestDatabase.shared();
  for (const statement of rows) await test.sql(statement);
  catalogue = directCatalogue(test.dataApi());
});
afterAll(() => test[Symbol.asyncDispose]());

async function pagesOf(datasetId: string, prefix?: string): Promise<(readonly DatasetFile[])[]> {
  const pages: (readonly DatasetFile[])[] = [];
  for await (const page of catalogue.filesOfDataset(datasetId, undefined, prefix)) pages.push(page);
  return pages;
}

describe('filesOfDataset', () => {
  it('gives the files that can be served, with what ingestion recorded', async () => {
    expect(await pagesOf('EGAD1')).toEqual([
      [
        {
          fileId: 'EGAF1',
          submissionFilePath: 'a dir/ä.bam',
          archiveFileSize: 9007199254740991,
          decryptedFileSize: 5,
          plaintextChecksums: [
            { type: 'SHA256', value: sha256 },
            { type: 'MD5', value: md5.toLowerCase() },
          ],
        },
        {
          fileId: 'EGAF2',
          submissionFilePath: '',
          archiveFileSize: undefined,
          decryptedFileSize: undefined,
          plaintextChecksums: [],
        },
      ],
    ]);
  });

  it('gives each file once over pages of at most 1,000', async () => {
    const pages = await pagesOf('EGAM');
    expect(pages.map((page) => page.length)).toEqual([1000, 1000, 500]);
    const ids = pages.flat().map(({ fileId }) => fileId);
    expect(new Set(ids)).toEqual(new Set(Array.from({ length: 2500 }, (_, at) => `EGAM${at + 1}`)));
  });

  it.each([
    ['EGAM', 'dir/24', 111],
    ['EGAM', 'dir/2400.c4gh', 1],
    ['EGAM', 'dir/_', 0],
    ['EGAD1', 'a dir/ä.bam.c4', 1],
  ])('gives of %s those below %s in one query', async (datasetId, prefix, files) => {
    test.actions.length = 0;
    expect((await pagesOf(datasetId, prefix)).map((page) => page.length)).toEqual(files === 0 ? [] : [files]);
    // The last ones find that no more files follow, and that the dataset is still released.
    expect(test.actions.length).toBe(files === 0 ? 2 : 3);
  });

  it('begins behind the place of a file', async () => {
    const [first = [], second = []] = await pagesOf('EGAM');
    const place = await catalogue.placeInDataset('EGAM', first.at(-1)?.fileId ?? '');
    const rest: DatasetFile[] = [];
    for await (const page of catalogue.filesOfDataset('EGAM', place)) rest.push(...page);
    expect(rest).toHaveLength(1500);
    expect(rest[0]).toEqual(second[0]);
  });

  it('knows no place of a file of another dataset, or of none', async () => {
    expect(await catalogue.placeInDataset('EGAM', 'EGAF1')).toBeUndefined();
    expect(await catalogue.placeInDataset('EGAM', 'EGAF404')).toBeUndefined();
  });

  it('knows whether there are more files than a number', async () => {
    expect(await catalogue.hasMoreFiles('EGAM', 2499)).toBe(true);
    expect(await catalogue.hasMoreFiles('EGAM', 2500)).toBe(false);
    expect(await catalogue.hasMoreFiles('EGAO', 0)).toBe(false);
  });

  it('makes pages short enough for a result of the Data API, however long the paths are', async () => {
    const pages = await pagesOf('EGAL');
    expect(pages.length).toBeGreaterThan(4);
    expect(new Set(pages.flat().map(({ fileId }) => fileId)).size).toBe(40);
    for (const page of pages) {
      const bytes = page.reduce((sum, { submissionFilePath }) => sum + Buffer.byteLength(submissionFilePath), 0);
      expect(bytes).toBeLessThan(1024 * 1024);
    }
  });

  it.each(['EGAN', 'EGAD404'])('is refused for %s, which is not released or not there', async (datasetId) => {
    await expect(pagesOf(datasetId)).rejects.toThrow(expect.objectContaining({ code: 'forbidden' }));
  });

  it('breaks off when the dataset is withdrawn between two pages', async () => {
    const pages = catalogue.filesOfDataset('EGAM')[Symbol.asyncIterator]();
    expect((await pages.next()).value).toHaveLength(1000);
    await test.sql("insert into sda.dataset_event_log (dataset_id, event) values ('EGAM', 'deprecated')");
    await expect(pages.next()).rejects.toThrow(expect.objectContaining({ code: 'forbidden' }));
  });
});

it('factsOf gives what ingestion recorded of a file', async () => {
  expect(await catalogue.factsOf('EGAF1')).toEqual({
    decryptedFileSize: 5,
    createdAt: new Date('2026-01-02T03:04:05.678Z'),
    plaintextChecksums: [
      { type: 'SHA256', value: sha256 },
      { type: 'MD5', value: md5.toLowerCase() },
    ],
  });
  expect(await catalogue.factsOf('EGAF2')).toEqual({
    decryptedFileSize: undefined,
    createdAt: undefined,
    plaintextChecksums: [],
  });
});
