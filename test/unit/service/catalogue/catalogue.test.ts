import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type * as z from 'zod';
import type { Catalogue } from '../../../../lib/service/archive/ports.ts';
import { rdsCatalogue } from '../../../../lib/service/catalogue/catalogue.ts';
import type { SqlExecutor } from '../../../../lib/service/stores/rds/data-api.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';

let test: TestDatabase;
let catalogue: Catalogue;
/** Rows as a pipeline writes them, in SQL of the test's own. */
const rows = [
  `insert into sda.datasets (id, stable_id) values
    (1, 'EGAD1'), (2, 'EGAD2'), (3, 'EGAD3'), (4, 'EGAD4'), (5, 'EGAD5'), (6, null), (7, 'EGAD7'), (8, 'SMOKE-1')`,
  `insert into sda.dataset_references (dataset_id, reference_id, reference_scheme, expired_at) values
    (1, 'https://doi.org/10.1/x', 'DOI', null), (2, 'old', 'X', now() - interval '1 minute'),
    (2, 'soon', 'X', now() + interval '1 hour'), (1, 'shared', 'A', null), (2, 'shared', 'B', null),
    (1, 'twice', 'A', null), (1, 'twice', 'B', null), (1, 'EGAD3', 'X', null), (6, 'nameless', 'X', null),
    (1, 'SMOKE-alias', 'X', null), (8, 'SMOKE-alias-of-its-own', 'X', null)`,
  `insert into sda.dataset_event_log (id, dataset_id, event, event_date) values
    (10, 'EGAD1', 'registered', '2026-01-01T00:00:00Z'), (11, 'EGAD1', 'released', '2026-01-02T00:00:00Z'),
    (21, 'EGAD2', 'released', '2026-01-01T00:00:00Z'), (20, 'EGAD2', 'deprecated', '2026-01-02T00:00:00Z'),
    (30, 'EGAD3', 'deprecated', '2026-01-01T00:00:00Z'), (31, 'EGAD3', 'released', '2026-01-01T00:00:00Z'),
    (40, 'EGAD4', 'released', '2026-01-01T00:00:00Z'), (41, 'EGAD4', 'deprecated', '2026-01-01T00:00:00Z'),
    (71, 'EGAD7', 'released', '2026-01-01T00:00:00Z'), (72, 'EGAD7', 'deprecated', null)`,
  "insert into sda.encryption_keys (key_hash) values ('cafe')",
  `insert into sda.files (id, stable_id, submission_file_path, archive_file_path, archive_file_size, header, key_hash)
   values
    ('00000000-0000-4000-8000-000000000001', 'EGAF1', 'a dir/ä.bam', 'body-1', 9007199254740991, '63727970ff', 'cafe'),
    ('00000000-0000-4000-8000-000000000002', 'EGAF2', 'b', 'body-2', 1, '6372797', null),
    ('00000000-0000-4000-8000-000000000003', 'EGAF3', 'c', '', null, '00', null),
    ('00000000-0000-4000-8000-000000000004', 'EGAF4', 'd', 'body-4', 4, null, null),
    ('00000000-0000-4000-8000-000000000005', 'EGAF5', 'e', 'body-5', 5, repeat('0a1B', 25000), null),
    ('00000000-0000-4000-8000-000000000006', null, 'f', 'body-6', 6, '00', null),
    ('00000000-0000-4000-8000-000000000007', 'EGAF7', 'g', 'body-7', 7, 'zz', null),
    ('00000000-0000-4000-8000-000000000008', 'EGAF8', 'h', 'body-8', 8, '00', null)`,
  // Headers of a pipeline hardly compress. Of text that does, PostgreSQL unpacks all that is before a slice.
  'alter table sda.files alter column header set storage external',
  `insert into sda.files (stable_id, archive_file_path, archive_file_size, header)
   values ('EGAF11', 'body-11', 11, repeat('0a', 1500001))`,
  `insert into sda.file_dataset (file_id, dataset_id)
   select id, 1 from sda.files where stable_id is null or stable_id <> 'EGAF8'`,
  `insert into sda.file_dataset (file_id, dataset_id)
   select f.id, d.id from sda.files f, sda.datasets d where f.stable_id = 'EGAF8' and d.id in (1, 2, 6)`,
];

beforeAll(async () => {
  test = await TestDatabase.shared();
  for (const statement of rows) await test.sql(statement);
  catalogue = rdsCatalogue(test.dataApi());
});
afterAll(() => test[Symbol.asyncDispose]());

it.each([
  ['a stable id', 'EGAD1', 'EGAD1'],
  ['an alias', 'https://doi.org/10.1/x', 'EGAD1'],
  ['an alias that expires later', 'soon', 'EGAD2'],
  ['an alias that has expired', 'old', undefined],
  ['an alias of one dataset under two schemes', 'twice', 'EGAD1'],
  ['an alias of two datasets', 'shared', undefined],
  ['a stable id that is also an alias of another dataset', 'EGAD3', 'EGAD3'],
  ['an alias of a dataset without a stable id', 'nameless', undefined],
  ['an unknown id', 'EGAD9', undefined],
  // The issuer of smoke tests grants every id that begins so.
  ['an alias that begins like a dataset of a smoke test', 'SMOKE-alias', undefined],
  ['such an alias, of a dataset of a smoke test', 'SMOKE-alias-of-its-own', undefined],
  ['a dataset of a smoke test', 'SMOKE-1', 'SMOKE-1'],
  ['SQL', "' or true --", undefined],
])('an id that is wanted or granted: %s', async (_name, id, expected) => {
  // A dataset that is not released is also known: a grant by its own id shows which one it is.
  for (const own of ['EGAD1', 'EGAD2', 'EGAD3', 'SMOKE-1']) {
    const found = await catalogue.evaluateAccess([own], { datasetId: id });
    expect([own, found.known, found.granted]).toEqual([own, expected !== undefined, expected === own]);
  }
  const byAlias = await catalogue.evaluateAccess([id], { datasetId: expected ?? 'EGAD1' });
  expect(byAlias).toMatchObject({ known: true, granted: expected !== undefined });
});

it('an alias no longer holds from the moment when it expires', async () => {
  // Within a transaction, now() stands still.
  const access = test.dataApi().transaction(async (transaction) => {
    await transaction.execute(
      "insert into sda.dataset_references (dataset_id, reference_id, reference_scheme, expired_at) values (1, 'now', 'X', now())",
    );
    return rdsCatalogue(transaction).evaluateAccess(['EGAD1'], { datasetId: 'now' });
  });
  expect(await access).toMatchObject({ known: false });
});

it.each([
  ['released after it was registered', 'EGAD1', true],
  ['deprecated later, though with a smaller id', 'EGAD2', false],
  ['two events at one instant, the later id is released', 'EGAD3', true],
  ['two events at one instant, the later id is deprecated', 'EGAD4', false],
  ['no event', 'EGAD5', false],
  ['an event without a date is never the newest', 'EGAD7', true],
  ['an unknown dataset', 'EGAD9', false],
])('isReleased: the newest event says it: %s', async (_name, id, expected) => {
  expect(await catalogue.isReleased(id)).toBe(expected);
});

describe('evaluateAccess', () => {
  const none = { entitled: [] };
  const ofFirst = (...namedBy: number[]) => ({ entitled: [{ datasetId: 'EGAD1', namedBy }] });

  it.each([
    ['a dataset, granted by id', ['EGAD1'], { datasetId: 'EGAD1' }, { known: true, granted: true, ...ofFirst(0) }],
    ['a dataset by alias', ['x', 'EGAD1', 'twice'], { datasetId: 'twice' }, { granted: true, ...ofFirst(1, 2) }],
    ['a dataset, not granted', ['EGAD3'], { datasetId: 'EGAD1' }, { known: true, granted: false, ...none }],
    ['a dataset, not released', ['EGAD2'], { datasetId: 'EGAD2' }, { known: true, granted: true, ...none }],
    ['a dataset that is missing', ['EGAD9'], { datasetId: 'EGAD9' }, { known: false, granted: false, ...none }],
    ['a file', ['EGAD2', 'EGAD1'], { fileId: 'EGAF8' }, { known: true, granted: true, ...ofFirst(1) }],
    ['a file, not granted', ['EGAD3'], { fileId: 'EGAF8' }, { known: true, granted: false, ...none }],
    ['a file, not released', ['EGAD2'], { fileId: 'EGAF8' }, { known: true, granted: true, ...none }],
    ['a file that is missing', ['EGAD1'], { fileId: 'EGAF9' }, { known: false, granted: false, ...none }],
    ['a file, nothing granted', [], { fileId: 'EGAF8' }, { known: true, granted: false, ...none }],
  ] as const)('%s', async (_name, granted, wanted, finding) => {
    test.actions.length = 0;
    expect(await catalogue.evaluateAccess(granted, wanted)).toMatchObject(finding);
    expect(test.actions).toEqual(['ExecuteStatement']);
  });

  it('nothing wanted: all that is granted and released, in the order of the ids', async () => {
    const granted = ['EGAD3', 'EGAD2', 'nothing', 'EGAD7', 'https://doi.org/10.1/x', 'EGAD1'];
    expect((await catalogue.evaluateAccess(granted)).entitled).toEqual([
      { datasetId: 'EGAD1', namedBy: [4, 5] },
      { datasetId: 'EGAD3', namedBy: [0] },
      { datasetId: 'EGAD7', namedBy: [3] },
    ]);
    expect(await catalogue.evaluateAccess([])).toEqual({ known: false, granted: false, entitled: [] });
  });

  it('entitles to nothing when a row names a dataset, but no grant for it', async () => {
    const row = { known: true, granted: true, dataset_id: 'EGAD1', named_by: null };
    const db = { query: async (shape: z.ZodType) => [shape.parse(row)], execute: async () => {} } as SqlExecutor;
    expect(await rdsCatalogue(db).evaluateAccess(['EGAD1'])).toEqual({ known: true, granted: true, entitled: [] });
  });

  it('takes as many ids as ten passports may grant', async () => {
    const granted = [...Array.from({ length: 1999 }, (_, at) => `${at} ${'ä'.repeat(250)}`), 'EGAD1'];
    expect(await catalogue.evaluateAccess(granted, { fileId: 'EGAF8' })).toMatchObject(ofFirst(1999));
  });
});

describe('findReleasedFile', () => {
  /** A catalogue that tells every statement after its answer. */
  const watched = (after: (sql: string) => unknown) => {
    const db = test.dataApi();
    return rdsCatalogue({
      query: async (row, sql, parameters) => {
        const found = await db.query(row, sql, parameters);
        await after(sql);
        return found;
      },
      execute: () => Promise.reject(new Error('the catalogue is only read')),
    });
  };
  const find = (fileId: string, datasetId = 'EGAD1') => catalogue.findReleasedFile({ fileId, datasetId });

  it('gives what staging needs, sizes exact', async () => {
    expect(await find('EGAF1')).toEqual({
      fileId: 'EGAF1',
      datasetId: 'EGAD1',
      submissionFilePath: 'a dir/ä.bam',
      archiveFilePath: 'body-1',
      archiveFileSize: 9007199254740991,
      header: Uint8Array.of(0x63, 0x72, 0x79, 0x70, 0xff),
      keyHash: 'cafe',
    });
  });

  it('tells where the body lies, when the pipeline says so', async () => {
    await test.sql("update sda.files set archive_location = 'https://s3.example/b-2' where stable_id = 'EGAF1'");
    await test.sql("update sda.files set archive_location = '' where stable_id = 'EGAF8'");
    expect((await find('EGAF1'))?.archiveLocation).toBe('https://s3.example/b-2');
    // EGAF5 was entered without one.
    for (const id of ['EGAF5', 'EGAF8']) expect((await find(id))?.archiveLocation).toBeUndefined();
  });

  it('reads a header that is too long for a row in slices', async () => {
    const statements: string[] = [];
    const file = await watched((sql) => statements.push(sql)).findReleasedFile({ fileId: 'EGAF5', datasetId: 'EGAD1' });
    const expected = Buffer.from([0x0a, 0x1b]);
    expect(Buffer.from(file?.header ?? []).equals(Buffer.alloc(50_000, expected))).toBe(true);
    // 100,000 characters, 32 KiB at a time.
    expect(statements).toHaveLength(4);
    // Hashing reads the whole column, so it is done once.
    expect(statements.filter((sql) => sql.includes('sha256'))).toHaveLength(1);
  });

  it('calls a header beyond the limit damaged before any more of it is read', async () => {
    test.actions.length = 0;
    await expect(find('EGAF11')).rejects.toThrow(/the header of file EGAF11 has 3000002 hex characters/);
    expect(test.actions).toHaveLength(1);
  });

  it.each([
    ['changes', "update sda.files set header = repeat('1b0A', 25000) where stable_id = 'EGAF5'"],
    ['goes', "update sda.files set header = '' where stable_id = 'EGAF5'"],
    ['is renamed', "update sda.files set stable_id = 'EGAF5-old' where stable_id = 'EGAF5'"],
  ])('does not splice a header that %s while it is read', async (_name, sql) => {
    const changing = watched(() => test.sql(sql));
    const reading = changing.findReleasedFile({ fileId: 'EGAF5', datasetId: 'EGAD1' });
    await expect(reading).rejects.toThrow('the header of file EGAF5 changed while it was read');
    await test.sql(
      `update sda.files set stable_id = 'EGAF5', header = repeat('0a1B', 25000)
       where id = '00000000-0000-4000-8000-000000000005'`,
    );
  });

  it('asks once, so that release and header are of one moment', async () => {
    test.actions.length = 0;
    await find('EGAF8');
    expect(test.actions).toEqual(['ExecuteStatement']);
  });

  it.each([
    ['a dataset that is not released', 'EGAF8', 'EGAD2'],
    ['a dataset that does not hold the file', 'EGAF1', 'EGAD3'],
    ['an unknown file', 'EGAF9', 'EGAD1'],
    ['an unknown dataset', 'EGAF1', 'EGAD9'],
  ])('finds nothing for %s', async (_name, fileId, datasetId) => {
    expect(await find(fileId, datasetId)).toBeUndefined();
  });

  it.each([
    ['half a byte at the end', 'EGAF2'],
    ['no body', 'EGAF3'],
    ['no header', 'EGAF4'],
    ['a header that is not hex', 'EGAF7'],
  ])('calls the archive damaged for %s', async (_name, fileId) => {
    await expect(find(fileId)).rejects.toThrow(expect.objectContaining({ code: 'archive_damaged' }));
  });
});
