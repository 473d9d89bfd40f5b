import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { regionCatalogue } from '../../../../lib/service/catalogue/region-catalogue.ts';
import type { RegionCatalogue } from '../../../../lib/service/direct/htsget/ports.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';

let test: TestDatabase;
let catalogue: RegionCatalogue;

const rows = [
  `insert into sda.datasets (id, stable_id) values (1, 'EGAD1'), (2, 'EGAD2'), (3, 'EGAD3')`,
  `insert into sda.dataset_references (dataset_id, reference_id, reference_scheme) values (1, 'doi:1', 'doi')`,
  `insert into sda.dataset_event_log (dataset_id, event) values ('EGAD1', 'released'), ('EGAD2', 'released'), ('EGAD3', 'registered')`,
  `insert into sda.files (stable_id, submission_file_path, archive_file_path, archive_file_size, header, key_hash) values
    ('EGAF1', 'run 1/x.BAM.c4gh', 'body-1', 1, '01', null), ('EGAF2', 'run 1/x.BAM.bai', 'body-2', 2, '02', null),
    ('EGAF3', 'run 1/x.bai', 'body-3', 3, '03', null), ('EGAF4', 'y.vcf.gz', 'body-4', 4, '04', null),
    ('EGAF5', 'y.vcf.gz.tbi', 'body-5', 5, '05', null), ('EGAF6', 'y.vcf.gz.csi', 'body-6', 6, null, null),
    ('EGAF7', 'z.bcf', 'body-7', null, '07', null)`,
  `insert into sda.file_dataset (dataset_id, file_id)
   select 1, id from sda.files where stable_id in ('EGAF1', 'EGAF3', 'EGAF2', 'EGAF4', 'EGAF6', 'EGAF7')`,
  `insert into sda.file_dataset (dataset_id, file_id) select 2, id from sda.files where stable_id in ('EGAF1', 'EGAF5')`,
  `insert into sda.file_dataset (dataset_id, file_id) select 3, id from sda.files where stable_id = 'EGAF4'`,
];
const names = [
  { ending: '.bam.c4gh', drop: 4, add: 'bai' },
  { ending: '.bam.c4gh', drop: 8, add: 'bai' },
  { ending: '.vcf.gz', drop: 0, add: '.tbi' },
  { ending: '.vcf.gz', drop: 0, add: '.csi' },
];

beforeAll(async () => {
  test = await TestDatabase.migrated();
  for (const statement of rows) await test.sql(statement);
  catalogue = regionCatalogue(test.dataApi());
});
afterAll(() => test[Symbol.asyncDispose]());

const found = async (granted: string[], wanted: Parameters<typeof catalogue.findIndexedFile>[1], given = names) => {
  const file = await catalogue.findIndexedFile(granted, wanted, given);
  return file && [file.data.datasetId, file.data.fileId, file.index?.fileId, file.namedBy];
};

describe('findIndexedFile', () => {
  it('gives the file and its preferred index in one call, with what serving takes', async () => {
    test.actions.length = 0;
    expect(await catalogue.findIndexedFile(['EGAD9', 'EGAD1', 'doi:1'], { fileId: 'EGAF1' }, names)).toEqual({
      data: {
        fileId: 'EGAF1',
        datasetId: 'EGAD1',
        submissionFilePath: 'run 1/x.BAM.c4gh',
        archiveFilePath: 'body-1',
        archiveFileSize: 1,
        archiveLocation: undefined,
        header: new Uint8Array([1]),
        keyHash: undefined,
      },
      index: expect.objectContaining({ fileId: 'EGAF2', datasetId: 'EGAD1', archiveFilePath: 'body-2' }),
      namedBy: [1, 2],
    });
    expect(test.actions).toEqual(['ExecuteStatement']);
  });

  it.each<[string, string[], Parameters<typeof catalogue.findIndexedFile>[1], unknown]>([
    [
      'an id through another dataset, which has no index',
      ['EGAD2'],
      { fileId: 'EGAF1' },
      ['EGAD2', 'EGAF1', undefined, [0]],
    ],
    ['a path', ['EGAD1'], { datasetId: 'EGAD1', path: 'run 1/x.BAM.c4gh' }, ['EGAD1', 'EGAF1', 'EGAF2', [0]]],
    ['a path below an alias', ['EGAD1'], { datasetId: 'doi:1', path: 'y.vcf.gz' }, ['EGAD1', 'EGAF4', undefined, [0]]],
    ['a path of another dataset', ['EGAD1', 'EGAD2'], { datasetId: 'EGAD2', path: 'y.vcf.gz' }, undefined],
    ['a path in another spelling', ['EGAD1'], { datasetId: 'EGAD1', path: './run 1/x.BAM.c4gh' }, undefined],
    ['an unknown file', ['EGAD1'], { fileId: 'EGAF9' }, undefined],
    ['a file of a dataset that is not granted', ['EGAD9'], { fileId: 'EGAF1' }, undefined],
    ['a file of a dataset that is not released', ['EGAD3'], { fileId: 'EGAF4' }, undefined],
    ['nothing granted', [], { fileId: 'EGAF1' }, undefined],
  ])('%s', async (_, granted, wanted, expected) => {
    expect(await found(granted, wanted)).toEqual(expected);
  });

  it('takes the second name where the first has no file, and none without names', async () => {
    expect(await found(['EGAD1'], { fileId: 'EGAF1' }, names.slice(1))).toEqual(['EGAD1', 'EGAF1', 'EGAF3', [0]]);
    expect(await found(['EGAD1'], { fileId: 'EGAF1' }, [])).toEqual(['EGAD1', 'EGAF1', undefined, [0]]);
  });

  it('says that the archive contradicts itself where a released file has no size', async () => {
    await expect(catalogue.findIndexedFile(['EGAD1'], { fileId: 'EGAF7' }, names)).rejects.toThrow(
      expect.objectContaining({ code: 'archive_damaged' }),
    );
  });
});
