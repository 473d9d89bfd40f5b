import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RdsErasure } from '../../../../lib/ops/audit/erasure.ts';
import { RdsArchiveUsers } from '../../../../lib/service/catalogue/users.ts';
import { outboxRecords, receiptRecords } from '../../../../lib/service/ledger/ledger.ts';
import { deleteExpiredRows, keepRows } from '../../../../lib/service/ledger/retention.ts';
import type { DataApi } from '../../../../lib/service/stores/rds/data-api.ts';
import { prepareRole } from '../../../../lib/service/stores/rds/database-role.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';
import { wholeLedger } from '../../../helpers/whole-ledger.ts';

const jane = 'a'.repeat(64);
const joe = 'b'.repeat(64);
const worker = { arn: 'arn:worker', login: { username: 'data_out_worker', password: 'correct-horse-battery-staple' } };
let test: TestDatabase;
beforeAll(async () => {
  test = await TestDatabase.shared();
  await prepareRole(test.dataApi(), 'data_out_worker', worker.login.password);
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(async () => {
  await test.deleteFrom('data_out.requests', 'data_out.request_files', 'data_out.uploads', 'data_out.export_log');
  await test.sql('delete from data_out.retention');
  test.logins = { [worker.arn]: worker.login };
});

const requestId = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** A request with two files and two rows of the audit trail. */
async function request(number: number, days: number, { state = 'complete', recipient = jane } = {}): Promise<void> {
  const id = requestId(number);
  const time = `now() - interval '${days} days'`;
  const settled = state === 'accepted' ? 0 : 1;
  await test.sql(`insert into data_out.requests (request_id, requested_at, state, recipient, key_fingerprint, dataset_id,
    sealed_at, settled_generation, updated_at, kind)
    values ('${id}', ${time}, '${state}', '${recipient}', 'cafe', 'EGAD1', ${time}, ${settled}, ${time}, 'dataset')`);
  for (const file of ['EGAF1', 'EGAF2']) {
    await test.sql(`insert into data_out.request_files (request_id, file_id, state, outbox_key, crc64nvme, header_sha256)
      values ('${id}', '${file}', 'staged', '${recipient}/${file}', 'crc', 'sum')`);
    await test.sql(`insert into data_out.export_log (request_id, event, file_id, dataset_id, recipient, key_fingerprint, checksum, recorded_at)
      values ('${id}', 'staged', '${file}', 'EGAD1', '${recipient}', 'cafe', 'crc', ${time})`);
  }
}

const counts = async () =>
  Promise.all(
    ['requests', 'request_files', 'export_log'].map(async (table) =>
      Number((await test.sql(`select count(*) from data_out.${table}`))[0]?.[0]),
    ),
  );

async function deleteAll(db: DataApi): Promise<number> {
  for (let total = 0; ; ) {
    const deleted = await deleteExpiredRows(db);
    if (deleted === 0) return total;
    total += deleted;
  }
}

describe('retention', () => {
  const owner = () => test.dataApi();
  const asWorker = () => test.dataApi({ secretArn: worker.arn });

  it('deletes requests and audit rows that are older, and nothing else', async () => {
    for (let number = 1; number <= 12; number += 1) await request(number, 100 + number);
    await request(20, 89);
    await keepRows(owner(), 90);
    expect(await deleteAll(asWorker())).toBe(12 + 24 + 24);
    expect(await counts()).toEqual([1, 2, 2]);
  });

  it('deletes at most 5,000 files by a statement, and the request after the last of them', async () => {
    await request(1, 200);
    await test.sql(`insert into data_out.request_files (request_id, file_id, state)
      select '${requestId(1)}', 'F' || n, 'staged' from generate_series(1, 9998) n`);
    await keepRows(owner(), 90);
    // With the two rows of the audit trail.
    expect(await deleteExpiredRows(asWorker())).toBe(5000 + 2);
    expect(await counts()).toEqual([1, 5000, 0]);
    expect(await deleteExpiredRows(asWorker())).toBe(5000 + 1);
    expect(await counts()).toEqual([0, 0, 0]);
    expect(await deleteExpiredRows(asWorker())).toBe(0);
  });

  it('keeps a request that is not closed, and goes past it', async () => {
    await request(1, 300, { state: 'accepted' });
    await request(2, 200);
    await request(3, 200, { state: 'rejected' });
    await keepRows(owner(), 90);
    await deleteAll(asWorker());
    expect(await test.sql('select request_id from data_out.requests')).toEqual([[requestId(1)]]);
  });

  it('goes past any number of older requests that stay', async () => {
    // Not closed; and closed, but changed since, as by a withdrawal.
    await test.sql(`insert into data_out.requests (request_id, requested_at, state, recipient, settled_generation, updated_at)
      select cast('00000000-0000-4000-8001-' || lpad(cast(n as text), 12, '0') as uuid), now() - interval '300 days',
        case when n % 2 = 0 then 'accepted' else 'withdrawn' end, '${joe}', n % 2,
        now() - case when n % 2 = 0 then interval '300 days' else interval '1 day' end
      from generate_series(1, 1200) n`);
    await request(1, 200);
    await keepRows(owner(), 90);
    expect(await deleteAll(asWorker())).toBe(1 + 2 + 2);
    expect((await counts())[0]).toBe(1200);
  });

  it('keeps all without a number of days, and when it is taken back', async () => {
    await request(1, 9000);
    expect(await deleteAll(asWorker())).toBe(0);
    await keepRows(owner(), 90);
    await keepRows(owner(), undefined);
    expect(await deleteAll(asWorker())).toBe(0);
    expect(await counts()).toEqual([1, 2, 2]);
  });

  it('may be changed by the owner of the tables alone', async () => {
    await expect(keepRows(asWorker(), 30)).rejects.toThrow('permission denied for table retention');
    await expect(keepRows(owner(), 29)).rejects.toThrow('retention_days_check');
  });

  it('is not asked for by other roles', async () => {
    await prepareRole(test.dataApi(), 'data_out_proxy', worker.login.password);
    test.logins = { 'arn:proxy': { username: 'data_out_proxy', password: worker.login.password } };
    const proxy = test.dataApi({ secretArn: 'arn:proxy' });
    await expect(deleteExpiredRows(proxy)).rejects.toThrow('permission denied for function');
    await new RdsArchiveUsers(proxy).find('anyone');
  });
});

describe('erasure', () => {
  const erasure = () => new RdsErasure(test.dataApi());
  const erasureId = requestId(99);

  it("takes a person, the key and the hashes out of the rows, and leaves others' rows alone", async () => {
    await request(1, 1);
    await request(2, 1, { recipient: joe });
    expect(await erasure().erase(jane, erasureId)).toBe(2 + 1 + 2);
    const tables = ['requests', 'request_files', 'export_log'];
    const texts = await Promise.all(
      tables.map((table) =>
        test.sql(`select cast(t as text) from data_out.${table} t where request_id = '${requestId(1)}'`),
      ),
    );
    expect(texts.map((rows) => rows.length)).toEqual([1, 2, 2]);
    for (const text of texts.flat(2)) expect(text).not.toMatch(/aaaa|cafe|crc|sum/);
    expect(
      (await test.sql(`select count(*) from data_out.export_log where recipient = '${joe}' and checksum = 'crc'`))[0],
    ).toEqual(['2']);
    const trail = `select event, recipient, dataset_id from data_out.export_log where request_id = '${erasureId}'`;
    expect(await test.sql(trail)).toEqual([['erased', null, null]]);
  });

  it("takes the person's keys out of rows that name nobody, as those of rejected requests", async () => {
    await request(1, 1);
    await request(2, 1, { recipient: joe });
    await test.sql("update data_out.export_log set key_fingerprint = 'c0ffee' where file_id = 'EGAF2'");
    for (const [number, key] of ['cafe', 'c0ffee', 'beef'].entries()) {
      const id = requestId(10 + number);
      await test.sql(`insert into data_out.requests (request_id, requested_at, state, reason, key_fingerprint)
        values ('${id}', now(), 'rejected', 'visa_expired', '${key}')`);
      await test.sql(`insert into data_out.export_log (request_id, event, reason, key_fingerprint)
        values ('${id}', 'rejected', 'visa_expired', '${key}')`);
    }
    expect(await erasure().erase(jane, erasureId)).toBe(2 + 1 + 2 + 2 * 2);
    for (const table of ['requests', 'export_log']) {
      const nameless = `select key_fingerprint from data_out.${table} where state_or_event = 'rejected' order by request_id`;
      const column = table === 'requests' ? 'state' : 'event';
      expect(await test.sql(nameless.replace('state_or_event', column))).toEqual([[null], [null], ['beef']]);
      const joes = `select distinct recipient from data_out.${table} where key_fingerprint in ('cafe', 'c0ffee')`;
      expect(await test.sql(joes)).toEqual([[joe]]);
    }
  });

  it('forgets unfinished copies, which name the outbox of the person', async () => {
    for (const [number, recipient] of [jane, joe].entries()) {
      await test.sql(`insert into data_out.uploads (request_id, file_id, holder, without_progress, outbox_key, upload_id)
        values ('${requestId(number)}', 'EGAF1', '${requestId(50)}', 5, '${recipient}/EGAF1-a.bam.c4gh', 'upload')`);
    }
    expect(await erasure().erase(jane, erasureId)).toBe(1);
    expect(await test.sql('select outbox_key from data_out.uploads')).toEqual([[`${joe}/EGAF1-a.bam.c4gh`]]);
  });

  it('changes nothing the second time', async () => {
    await request(1, 1);
    await erasure().erase(jane, erasureId);
    expect(await erasure().erase(jane, erasureId)).toBe(0);
    expect(await test.sql("select count(*) from data_out.export_log where event = 'erased'")).toEqual([['1']]);
  });

  it('leaves rows that the withdrawal and the receipts can still read', async () => {
    await request(1, 1);
    await erasure().erase(jane, erasureId);
    const pages = [];
    for await (const page of outboxRecords(test.dataApi(), 30).containers({
      datasetId: 'EGAD1',
    })) {
      pages.push(page);
    }
    expect(pages.flat()).toEqual([]);
    expect(await receiptRecords(test.dataApi()).find(requestId(1))).toBeUndefined();
  });

  it('leaves nothing to do for a request whose dead letter is replayed afterwards', async () => {
    await request(1, 200);
    await request(2, 200, { recipient: joe });
    await erasure().erase(jane, erasureId);
    // A file that is tried again raises the generation.
    await test.sql('update data_out.requests set generation = 2');
    const later = new Date(Date.now() + 60_000);
    expect(await wholeLedger(test.dataApi(), 10).unclosed(later)).toEqual([requestId(2)]);
    await keepRows(test.dataApi(), 90);
    await deleteAll(test.dataApi());
    expect(await test.sql('select request_id from data_out.requests')).toEqual([[requestId(2)]]);
  });

  it('counts the requests that are not closed', async () => {
    await request(1, 1);
    await request(2, 1, { state: 'accepted' });
    await request(3, 1, { state: 'rejected' });
    expect(await erasure().openRequests(jane)).toBe(1);
  });
});
