import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ContainerFilter, OutboxRecords, RecordedContainer } from '../../../../lib/service/export/ledger-port.ts';
import { copyRecords } from '../../../../lib/service/ledger/copy-records.ts';
import { outboxRecords } from '../../../../lib/service/ledger/ledger.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';

const [one, two, three] = ['1', '2', '3'].map((digit) => `${digit.repeat(8)}-1111-4111-8111-111111111111`) as [
  string,
  string,
  string,
];
const jane = 'ab'.repeat(32);
const keyOf = (fileId: string) => `${jane}/${fileId}-sample.bam.c4gh`;

let test: TestDatabase;
let records: OutboxRecords;
beforeAll(async () => {
  test = await TestDatabase.shared();
  records = outboxRecords(test.dataApi(), 30);
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(async () => {
  await test.sql('truncate sda.files, sda.datasets, sda.file_dataset, sda.dataset_event_log restart identity cascade');
  await test.sql(
    'truncate data_out.requests, data_out.request_files, data_out.export_log, data_out.uploads restart identity',
  );
  await test.sql("insert into sda.datasets (stable_id) values ('EGAD1'), ('EGAD2'), ('EGAD3')");
  await test.sql("insert into sda.files (stable_id, submission_file_path) values ('EGAF1', 'in/sample.bam')");
  await test.sql("insert into sda.files (stable_id, submission_file_path) values ('EGAF2', 'in/sample.bam')");
  await test.sql(
    'insert into sda.file_dataset (file_id, dataset_id) select f.id, d.id from sda.files f, sda.datasets d',
  );
});

/** Make `event` the newest of a dataset, `days` ago. */
const event = (dataset: string, name: string, days = 0) =>
  test.sql(
    `insert into sda.dataset_event_log (dataset_id, event, event_date)
     values ('${dataset}', '${name}', now() - interval '${days} days')`,
  );
const request = (id: string, dataset: string, recipient = jane) =>
  test.sql(
    `insert into data_out.requests (request_id, requested_at, dataset_id, recipient, state, sealed_at, settled_generation)
     values ('${id}', now(), '${dataset}', '${recipient}', 'complete', now(), 1)`,
  );
const row = (id: string, file: string, state = 'staged', key = `'${keyOf(file)}'`, days = 0) =>
  test.sql(
    `insert into data_out.request_files (request_id, file_id, state, outbox_key, updated_at)
     values ('${id}', '${file}', '${state}', ${key}, now() - interval '${days} days')`,
  );
async function found(filter: ContainerFilter, withdrawn = false): Promise<readonly RecordedContainer[]> {
  const all: RecordedContainer[] = [];
  for await (const page of records.containers(filter, { withdrawn })) all.push(...page);
  return all;
}
const container = (requestId: string, fileId: string, datasetId = 'EGAD1'): RecordedContainer => ({
  requestId,
  fileId,
  datasetId,
  recipient: jane,
  key: keyOf(fileId),
  state: 'staged',
});
const states = () =>
  test.sql(`select request_id, file_id, state, superseded_by from data_out.request_files order by request_id, file_id`);
const generations = () => test.sql('select request_id, generation from data_out.requests order by request_id');

describe('deprecated datasets', () => {
  it('are those whose newest event is that, the newest first', async () => {
    await event('EGAD1', 'deprecated', 9);
    await event('EGAD1', 'released', 10);
    await event('EGAD2', 'deprecated', 2);
    await event('EGAD2', 'released', 1);
    await event('EGAD3', 'deprecated');
    expect(await records.deprecatedDatasets()).toEqual([
      { datasetId: 'EGAD3', isRecent: true },
      { datasetId: 'EGAD1', isRecent: false },
    ]);
  });

  it('are none that were never released, or have no event', async () => {
    await event('EGAD1', 'registered');
    expect(await records.deprecatedDatasets()).toEqual([]);
  });
});

describe('containers', () => {
  it('are those that a row has as staged or given up, of a dataset, a recipient or a request', async () => {
    await request(one, 'EGAD1');
    await request(two, 'EGAD2');
    await request(three, 'EGAD1', 'cd'.repeat(32));
    await row(one, 'EGAF1');
    await row(one, 'EGAF2', 'given_up', 'null');
    await row(two, 'EGAF1');
    await row(three, 'EGAF1', 'superseded');
    await row(three, 'EGAF2', 'pending', 'null');
    const ofOne = [container(one, 'EGAF1'), { ...container(one, 'EGAF2'), state: 'given_up' }];
    expect(await found({ datasetId: 'EGAD1' })).toEqual(ofOne);
    expect(await found({ requestId: one.toUpperCase() })).toEqual(ofOne);
    expect(await found({ recipient: jane })).toEqual([...ofOne, container(two, 'EGAF1', 'EGAD2')]);
    expect(await found({ recipient: 'cd'.repeat(32) })).toEqual([]);
  });

  it('are left out when the bucket has expired them', async () => {
    await request(one, 'EGAD1');
    await row(one, 'EGAF1', 'staged', `'${keyOf('EGAF1')}'`, 33);
    await row(one, 'EGAF2', 'staged', `'${keyOf('EGAF2')}'`, 31);
    expect(await found({ datasetId: 'EGAD1' })).toEqual([container(one, 'EGAF2')]);
  });

  it('are looked for in no request that was closed before that', async () => {
    await request(one, 'EGAD1');
    await test.sql(
      `insert into data_out.request_files (request_id, file_id, state, outbox_key, updated_at)
       select '${one}', 'F' || n, 'staged', '${jane}/F' || n || '.c4gh', now() - interval '33 days' from generate_series(1, 900) n`,
    );
    // Its receipt waits, so that a file may have been staged since.
    await request(two, 'EGAD1');
    await row(two, 'EGAF1');
    await test.sql(`update data_out.requests set updated_at = now() - interval '33 days'`);
    await test.sql(`update data_out.requests set generation = 2 where request_id = '${two}'`);
    test.bodies.length = 0;
    expect(await found({ datasetId: 'EGAD1' })).toEqual([container(two, 'EGAF1')]);
    expect(test.bodies).toHaveLength(1);
  });

  it('come once each over pages', async () => {
    await request(one, 'EGAD1');
    await test.sql(
      `insert into data_out.request_files (request_id, file_id, state, outbox_key)
       select '${one}', 'F' || n, 'staged', '${jane}/F' || n || '.c4gh' from generate_series(1, 900) n`,
    );
    const ids = (await found({ datasetId: 'EGAD1' })).map(({ fileId }) => fileId);
    expect(new Set(ids).size).toBe(900);
    expect(ids).toHaveLength(900);
    // More requests than a page has rows: the first without a file, each other with its own.
    await test.sql(
      `insert into data_out.requests (request_id, requested_at, dataset_id, recipient, state)
       select cast('33333333-1111-4111-8111-' || lpad(cast(n as text), 12, '0') as uuid), now(), 'EGAD1', '${jane}', 'complete'
       from generate_series(1, 900) n`,
    );
    await test.sql(
      `insert into data_out.request_files (request_id, file_id, state, outbox_key)
       select request_id, 'G', 'staged', '${jane}/G.c4gh' from data_out.requests
       where request_id > '33333333-1111-4111-8111-000000000001'`,
    );
    expect(await found({ datasetId: 'EGAD1' })).toHaveLength(900 + 899);
  });

  describe('of a withdrawn dataset', () => {
    beforeEach(async () => {
      await request(one, 'EGAD1');
      await request(two, 'EGAD2');
      await row(one, 'EGAF1');
      await row(two, 'EGAF1');
      await event('EGAD1', 'deprecated');
      await event('EGAD2', 'released');
    });
    const withdrawn = () => found({ datasetId: 'EGAD1' }, true);

    it('are left out if the recipient got the file through another dataset that allows it', async () => {
      expect(await withdrawn()).toEqual([]);
    });

    it('are not, if that dataset is not released', async () => {
      await event('EGAD2', 'deprecated');
      expect(await withdrawn()).toEqual([container(one, 'EGAF1')]);
    });

    it('are not, if that dataset no longer has the file', async () => {
      await test.sql('delete from sda.file_dataset where dataset_id = 2');
      expect(await withdrawn()).toEqual([container(one, 'EGAF1')]);
    });

    it('are not, if the other export has left nothing', async () => {
      await test.sql(`update data_out.request_files set state = 'withdrawn' where request_id = '${two}'`);
      expect(await withdrawn()).toEqual([container(one, 'EGAF1')]);
    });
  });
});

describe('a removal', () => {
  it('is in the audit trail together with its rows, or not at all', async () => {
    await request(one, 'EGAD1');
    await row(one, 'EGAF1');
    const ended = { ...container(one, 'EGAF1'), end: 'withdrawn' } as const;
    const event = { requestId: one, event: 'withdrawn', fileId: 'EGAF1', datasetId: 'EGAD1', bytes: 7 } as const;
    const refused = { ...event, fileId: 'EGAF2', event: 'forgotten' as 'withdrawn' };
    await expect(records.recordRemoval([ended], [event, refused])).rejects.toThrow('violates check constraint');
    expect(await states()).toEqual([[one, 'EGAF1', 'staged', null]]);
    for (const _ of [1, 2]) await records.recordRemoval([ended], [event]);
    expect(await states()).toEqual([[one, 'EGAF1', 'withdrawn', null]]);
    const audit = await test.sql('select request_id, event, file_id, dataset_id, bytes from data_out.export_log');
    expect(audit).toEqual([[one, 'withdrawn', 'EGAF1', 'EGAD1', '7']]);
  });

  it('withdraws a row, raises the generation of its request once, and may be repeated', async () => {
    await request(one, 'EGAD1');
    await row(one, 'EGAF1');
    await row(one, 'EGAF2');
    for (const _ of [1, 2]) await records.recordRemoval([{ ...container(one, 'EGAF1'), end: 'withdrawn' }], []);
    expect(await states()).toEqual([
      [one, 'EGAF1', 'withdrawn', null],
      [one, 'EGAF2', 'staged', null],
    ]);
    expect(await generations()).toEqual([[one, '2']]);
  });

  it('forgets why an attempt was given up whose container is withdrawn', async () => {
    await request(one, 'EGAD1');
    await row(one, 'EGAF1', 'given_up', 'null');
    await test.sql("update data_out.request_files set reason = 'temporarily_unavailable'");
    await records.recordRemoval([{ ...container(one, 'EGAF1'), state: 'given_up', end: 'withdrawn' }], []);
    const rows = await test.sql('select state, reason, outbox_key from data_out.request_files');
    expect(rows).toEqual([['withdrawn', null, keyOf('EGAF1')]]);
  });

  it('names the request that has replaced a container, and raises no generation', async () => {
    await request(one, 'EGAD1');
    await row(one, 'EGAF1');
    await records.recordRemoval([{ ...container(one, 'EGAF1'), end: 'superseded', by: two }], []);
    expect(await states()).toEqual([[one, 'EGAF1', 'superseded', two]]);
    expect(await generations()).toEqual([[one, '1']]);
  });

  it('withdraws all that other requests had under the same key', async () => {
    await request(one, 'EGAD1');
    await request(two, 'EGAD2');
    await row(one, 'EGAF1');
    await request(three, 'EGAD1');
    await row(two, 'EGAF1');
    await row(two, 'EGAF2');
    await row(three, 'EGAF1', 'superseded');
    await test.sql(`update data_out.request_files set superseded_by = '${one}' where request_id = '${three}'`);
    await records.recordRemoval([{ ...container(one, 'EGAF1'), end: 'withdrawn' }], []);
    expect(await states()).toEqual([
      [one, 'EGAF1', 'withdrawn', null],
      [two, 'EGAF1', 'withdrawn', null],
      [two, 'EGAF2', 'staged', null],
      [three, 'EGAF1', 'withdrawn', null],
    ]);
    expect(await generations()).toEqual([
      [one, '2'],
      [two, '2'],
      [three, '2'],
    ]);
  });

  it('leaves a row that an attempt has opened again', async () => {
    await request(one, 'EGAD1');
    await row(one, 'EGAF1', 'pending');
    await records.recordRemoval([{ ...container(one, 'EGAF1'), end: 'withdrawn' }], []);
    expect(await states()).toEqual([[one, 'EGAF1', 'pending', null]]);
    expect(await generations()).toEqual([[one, '1']]);
  });
});

describe('copies', () => {
  it('are found by the dataset of their request, until their upload is forgotten', async () => {
    await request(one, 'EGAD1');
    await request(two, 'EGAD2');
    for (const id of [one, two]) {
      await test.sql(
        `insert into data_out.uploads (request_id, file_id, holder, without_progress, outbox_key, upload_id)
         values ('${id}', 'EGAF1', '${id}', 1, '${keyOf('EGAF1')}', 'upload of ${id}')`,
      );
    }
    const copy = { requestId: one, fileId: 'EGAF1', outboxKey: keyOf('EGAF1'), uploadId: `upload of ${one}` };
    const copies = copyRecords(test.dataApi());
    expect(await copies.ofDataset('EGAD1')).toEqual([copy]);
    await copies.forgetUpload({ ...copy, uploadId: 'another' });
    expect(await copies.ofDataset('EGAD1')).toEqual([copy]);
    await copies.forgetUpload(copy);
    expect(await copies.ofDataset('EGAD1')).toEqual([]);
    expect(await copies.ofDataset('EGAD2')).toHaveLength(1);
  });
});
