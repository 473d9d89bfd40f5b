import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ArchiveUserWriter } from '../../../../lib/ops/catalogue/archive-users.ts';
import { type ArchiveRegistration, RdsArchiveWriter } from '../../../../lib/ops/catalogue/writer.ts';
import { rdsCatalogue } from '../../../../lib/service/catalogue/catalogue.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';
import { brokenConnection } from '../../../helpers/http-handler.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await TestDatabase.shared();
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(async () => {
  await test.sql(
    'truncate sda.datasets, sda.files, sda.encryption_keys, data_out.archive_users, data_out.export_log cascade',
  );
});

const lostAnswer = () => test.faults.push({ action: 'ExecuteStatement', error: brokenConnection(), carriedOut: true });

const file: ArchiveRegistration = {
  fileId: 'EGAF1',
  datasetId: 'EGAD1',
  submissionFilePath: "it's/ä.vcf",
  submissionFileSize: 200,
  archiveFilePath: 'bodies/1',
  archiveLocation: 'https://s3.example/archive',
  archiveFileSize: 9007199254740991,
  decryptedFileSize: 92,
  header: Uint8Array.of(0, 1, 0xff),
  keyHash: 'cafe',
  checksums: [
    { source: 'UNENCRYPTED', type: 'SHA256', checksum: 'aa' },
    { source: 'ARCHIVED', type: 'MD5', checksum: 'bb' },
  ],
};

describe('RdsArchiveWriter', () => {
  const checksums = 'select source, type, checksum from sda.checksums order by source';

  it('enters a file that the catalogue then gives out once the dataset is released', async () => {
    const writer = new RdsArchiveWriter(test.dataApi());
    const catalogue = rdsCatalogue(test.dataApi());
    const reference = { fileId: 'EGAF1', datasetId: 'EGAD1' };
    await writer.registerFile(file);
    expect(await catalogue.findReleasedFile(reference)).toBeUndefined();
    await writer.appendDatasetEvent('EGAD1', 'released');
    expect(await catalogue.findReleasedFile(reference)).toEqual({
      ...reference,
      submissionFilePath: "it's/ä.vcf",
      archiveFilePath: 'bodies/1',
      archiveLocation: 'https://s3.example/archive',
      archiveFileSize: 9007199254740991,
      header: Uint8Array.of(0, 1, 0xff),
      keyHash: 'cafe',
    });
    expect(await test.sql(checksums)).toEqual([
      ['ARCHIVED', 'MD5', 'bb'],
      ['UNENCRYPTED', 'SHA256', 'aa'],
    ]);
    await writer.appendDatasetEvent('EGAD1', 'deprecated');
    expect(await catalogue.isReleased('EGAD1')).toBe(false);
  });

  it('leaves one row each when the answer is lost, and when the file is entered again', async () => {
    const writer = new RdsArchiveWriter(test.dataApi());
    lostAnswer();
    await writer.registerFile(file);
    await writer.registerFile({
      ...file,
      submissionFilePath: 'again.vcf',
      checksums: [{ ...file.checksums[0]!, checksum: 'cc' }],
    });
    expect(await test.sql('select stable_id, submission_file_path from sda.files')).toEqual([['EGAF1', 'again.vcf']]);
    expect(await test.sql('select stable_id from sda.datasets')).toEqual([['EGAD1']]);
    expect(await test.sql('select count(*) from sda.file_dataset')).toEqual([['1']]);
    expect(await test.sql('select dataset_id, event from sda.dataset_event_log')).toEqual([['EGAD1', 'registered']]);
    expect(await test.sql(checksums)).toEqual([
      ['ARCHIVED', 'MD5', 'bb'],
      ['UNENCRYPTED', 'SHA256', 'cc'],
    ]);
  });

  it.each([false, true])(
    'two that enter one new file id at once: one exists whole, the other is told (answers lost: %s)',
    async (lost) => {
      const writer = new RdsArchiveWriter(test.dataApi());
      if (lost) for (let n = 0; n < 2; n += 1) lostAnswer();
      const other = {
        ...file,
        datasetId: 'EGAD2',
        keyHash: 'beef',
        archiveFilePath: 'bodies/2',
        header: Uint8Array.of(2),
        checksums: [{ ...file.checksums[0]!, checksum: 'cc' }],
      };
      const [first, second] = await Promise.allSettled([writer.registerFile(file), writer.registerFile(other)]);
      expect(first.status).toBe('fulfilled');
      expect(second).toMatchObject({ status: 'rejected', reason: { code: 'conflict' } });
      expect(await test.sql('select archive_file_path, header, key_hash from sda.files')).toEqual([
        ['bodies/1', '0001ff', 'cafe'],
      ]);
      expect(await test.sql('select stable_id from sda.datasets')).toEqual([['EGAD1']]);
      expect(await test.sql('select dataset_id from sda.dataset_event_log')).toEqual([['EGAD1']]);
      expect(await test.sql('select key_hash from sda.encryption_keys')).toEqual([['cafe']]);
      expect(await test.sql(checksums)).toEqual([
        ['ARCHIVED', 'MD5', 'bb'],
        ['UNENCRYPTED', 'SHA256', 'aa'],
      ]);
    },
  );

  it('appends an event once, even when the answer is lost', async () => {
    const writer = new RdsArchiveWriter(test.dataApi());
    await writer.registerFile(file);
    lostAnswer();
    await writer.appendDatasetEvent('EGAD1', 'released');
    await writer.appendDatasetEvent('EGAD1', 'released');
    await writer.appendDatasetEvent('EGAD1', 'deprecated');
    await writer.appendDatasetEvent('EGAD1', 'released');
    expect((await test.sql('select event from sda.dataset_event_log order by id')).flat()).toEqual([
      'registered',
      'released',
      'deprecated',
      'released',
    ]);
  });

  it('makes its event the newest even after one that a clock ahead of time wrote', async () => {
    const writer = new RdsArchiveWriter(test.dataApi());
    await writer.registerFile(file);
    await test.sql(
      "insert into sda.dataset_event_log (dataset_id, event, event_date) values ('EGAD1', 'released', now() + interval '1 day')",
    );
    await writer.appendDatasetEvent('EGAD1', 'deprecated');
    expect(await rdsCatalogue(test.dataApi()).isReleased('EGAD1')).toBe(false);
  });

  it('appends nothing for a dataset that is missing', async () => {
    await new RdsArchiveWriter(test.dataApi()).appendDatasetEvent('EGAD9', 'released');
    expect(await test.sql('select event from sda.dataset_event_log')).toEqual([]);
  });
});

describe('removeFile', () => {
  const removal = { removalId: '6f2c3d1e-0000-4000-8000-000000000009', fileId: 'EGAF1' };
  const small = { ...file, archiveFileSize: 38, checksums: file.checksums.slice(0, 1) };
  const left = async () => [
    (await test.sql('select stable_id from sda.files order by 1')).flat(),
    (
      await test.sql('select d.stable_id from sda.file_dataset m join sda.datasets d on d.id = m.dataset_id order by 1')
    ).flat(),
    (await test.sql('select checksum from sda.checksums order by 1')).flat(),
  ];
  const audited = () => test.sql('select event, dataset_id, file_id, bytes from data_out.export_log order by id');
  let writer: RdsArchiveWriter;
  beforeEach(async () => {
    writer = new RdsArchiveWriter(test.dataApi());
    await writer.registerFile(small);
    await writer.addToDataset('EGAF1', 'EGAD2');
  });

  it('takes the file out of all datasets, once, also when the answer is lost', async () => {
    await writer.registerFile({ ...small, fileId: 'EGAF2', archiveFilePath: 'bodies/2' });
    lostAnswer();
    expect(await writer.removeFile(removal)).toBe('removed');
    expect(await writer.removeFile(removal)).toBe('removed');
    expect(await left()).toEqual([['EGAF2'], ['EGAD1'], ['aa']]);
    expect(await audited()).toEqual([['removed', null, 'EGAF1', '38']]);
  });

  it('takes it out of one dataset while another holds it, and out of the catalogue with the last', async () => {
    lostAnswer();
    expect(await writer.removeFile({ ...removal, datasetId: 'EGAD1' })).toBe('held_elsewhere');
    expect(await left()).toEqual([['EGAF1'], ['EGAD2'], ['aa']]);
    const last = { ...removal, removalId: '6f2c3d1e-0000-4000-8000-000000000010', datasetId: 'EGAD2' };
    expect(await writer.removeFile(last)).toBe('removed');
    expect(await left()).toEqual([[], [], []]);
    expect(await audited()).toEqual([
      ['removed', 'EGAD1', 'EGAF1', null],
      ['removed', 'EGAD2', 'EGAF1', '38'],
    ]);
  });

  it('changes nothing while a dataset that the file would leave is released', async () => {
    await writer.appendDatasetEvent('EGAD2', 'released');
    const before = await left();
    expect(await writer.removeFile(removal)).toBeUndefined();
    expect(await writer.removeFile({ ...removal, datasetId: 'EGAD2' })).toBeUndefined();
    expect([await left(), await audited()]).toEqual([before, []]);
    expect(await writer.removeFile({ ...removal, datasetId: 'EGAD1' })).toBe('held_elsewhere');
    await writer.appendDatasetEvent('EGAD2', 'deprecated');
    const other = { ...removal, removalId: '6f2c3d1e-0000-4000-8000-000000000010' };
    expect(await writer.removeFile(other)).toBe('removed');
  });

  it('keeps the body that another file has, too', async () => {
    await test.sql("insert into sda.files (stable_id, archive_file_path) values ('EGAF2', 'bodies/1')");
    lostAnswer();
    expect(await writer.removeFile(removal)).toBe('body_shared');
    expect(await left()).toEqual([['EGAF2'], [], []]);
    expect(await audited()).toEqual([['removed', null, 'EGAF1', null]]);
  });

  it('knows no file of another id or dataset', async () => {
    expect(await writer.removeFile({ ...removal, fileId: 'EGAF404' })).toBeUndefined();
    expect(await writer.removeFile({ ...removal, datasetId: 'EGAD404' })).toBeUndefined();
    expect(await audited()).toEqual([]);
  });

  it('leaves a file to the pipeline whose tables refer to it', async () => {
    await test.sql('create table sda.file_event_log (file_id uuid references sda.files (id))');
    await test.sql('insert into sda.file_event_log select id from sda.files');
    const before = await left();
    await expect(writer.removeFile(removal)).rejects.toMatchObject({ code: 'conflict' });
    await test.sql('drop table sda.file_event_log');
    expect([await left(), await audited()]).toEqual([before, []]);
  });
});

describe('ArchiveUserWriter', () => {
  it('lists users, active and disabled, over pages and without hashes', async () => {
    const users = new ArchiveUserWriter(test.dataApi());
    await test.sql(
      `insert into data_out.archive_users (username, password_hash, created_at, disabled_at)
       select 'u' || lpad(n::text, 5, '0'), 'secret', '2026-01-02T03:04:05Z', case when n = 1 then timestamptz '2026-02-03T00:00:00Z' end
       from generate_series(1, 1001) n`,
    );
    const listed = [];
    for await (const user of users.list()) listed.push(user);
    expect(listed.length).toBe(1001);
    expect(listed.slice(0, 2)).toEqual([
      { username: 'u00001', createdAt: '2026-01-02T03:04:05Z', disabledAt: '2026-02-03T00:00:00Z' },
      { username: 'u00002', createdAt: '2026-01-02T03:04:05Z', disabledAt: undefined },
    ]);
    expect(listed.at(-1)).toMatchObject({ username: 'u01001' });
  });

  it('finds a saved user, with the newest hash, until disabled', async () => {
    const users = new ArchiveUserWriter(test.dataApi());
    expect(await users.find('ana')).toBeUndefined();
    lostAnswer();
    await users.save('ana', '$scrypt$1');
    await users.save('ana', '$scrypt$2');
    expect(await users.find('ana')).toEqual({ username: 'ana', passwordHash: '$scrypt$2' });
    await users.disable('ana');
    expect(await users.find('ana')).toBeUndefined();
    await users.save('ana', '$scrypt$3');
    expect(await users.find('ana')).toEqual({ username: 'ana', passwordHash: '$scrypt$3' });
  });

  it.each(['Ana', "ana' or ''='", 'an\0a', ''])('does not find %j', async (name) => {
    const users = new ArchiveUserWriter(test.dataApi());
    await users.save('ana', '$scrypt$1');
    expect(await users.find(name)).toBeUndefined();
  });
});
