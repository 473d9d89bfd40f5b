import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AcceptedRequest } from '../../../../lib/service/export/ledger-port.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';
import { brokenConnection } from '../../../helpers/http-handler.ts';
import { type WholeLedger, wholeLedger } from '../../../helpers/whole-ledger.ts';

const [first, second, third] = ['1', '2', '3'].map((digit) => `6f2c3d1e-0000-4000-8000-00000000000${digit}`) as [
  string,
  string,
  string,
];
const gib = 1_073_741_824;
const jane = 'ab'.repeat(32);
const asking = (requestId: string, datasetId: string, more: Partial<AcceptedRequest> = {}): AcceptedRequest => ({
  requestId,
  requestedAt: new Date('2026-11-21T09:59:00.123Z'),
  datasetId,
  recipient: jane,
  keyFingerprint: 'cd',
  ...more,
});

let test: TestDatabase;
let requests: WholeLedger;
let files: WholeLedger;
beforeAll(async () => {
  test = await TestDatabase.shared();
  requests = wholeLedger(test.dataApi(), 10, { gib: 10, expiryDays: 30 });
  files = wholeLedger(test.dataApi(), 10);
  await test.sql("insert into sda.datasets (id, stable_id) values (1, 'SIX'), (2, 'FOUR'), (3, 'BOTH'), (4, 'BYTE')");
  // A container is the header, in hex here, and the body. Those of F1 to F3 have whole GiB, that of F4 has one byte.
  await test.sql(`insert into sda.files (stable_id, archive_file_path, archive_file_size, header) values
    ('F1', 'body', ${3 * gib - 2}, '0000'), ('F2', 'body', ${3 * gib - 2}, '0000'),
    ('F3', 'body', ${4 * gib - 2}, '0000'), ('F4', 'body', 0, '00')`);
  const members = [
    ['SIX', 'F1', 'F2'],
    ['FOUR', 'F3'],
    ['BOTH', 'F1', 'F2', 'F3'],
    ['BYTE', 'F4'],
  ];
  for (const [dataset, ...ids] of members)
    await test.sql(`insert into sda.file_dataset (file_id, dataset_id)
      select f.id, d.id from sda.files f, sda.datasets d
      where d.stable_id = '${dataset}' and f.stable_id in ('${ids.join("', '")}')`);
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(() => test.deleteFrom('data_out.requests', 'data_out.request_files', 'data_out.export_log'));

const filesOf: Readonly<Record<string, readonly string[]>> = {
  SIX: ['F1', 'F2'],
  FOUR: ['F3'],
  BOTH: ['F1', 'F2', 'F3'],
  BYTE: ['F4'],
};
/** Accept the request as the consumer does, and end its fan-out. */
async function accepted(request: AcceptedRequest): Promise<boolean> {
  const fileIds = request.fileId === undefined ? (filesOf[request.datasetId] ?? []) : [request.fileId];
  if (!(await requests.accept(request, fileIds, { count: 1, isLast: false }))) return false;
  await requests.completeFanOut(request.requestId, { sentTo: fileIds.at(-1) ?? '', files: fileIds.length });
  return true;
}
const stage = (requestId: string, fileId: string, bytes: number) =>
  files.record([{ requestId, fileId, state: 'staged', bytes }], []);
const count = async (table: string) => Number((await test.sql(`select count(*) from data_out.${table}`))[0]?.[0]);

describe('what a recipient may have in the outbox', () => {
  it('is filled to the last byte, and not beyond; a request that does not fit leaves nothing', async () => {
    expect(await accepted(asking(first, 'SIX'))).toBe(true);
    expect(await accepted(asking(second, 'FOUR'))).toBe(true);
    expect(await accepted(asking(third, 'BYTE'))).toBe(false);
    expect([await count('requests'), await count('request_files'), await count('export_log')]).toEqual([2, 3, 2]);
  });

  it('is for each recipient separately', async () => {
    await accepted(asking(first, 'BOTH'));
    expect(await accepted(asking(second, 'BOTH', { recipient: 'cd'.repeat(32) }))).toBe(true);
  });

  it('counts a file once: a repeated export replaces its container', async () => {
    await accepted(asking(first, 'BOTH'));
    for (const [fileId, bytes] of [
      ['F1', 3 * gib],
      ['F2', 3 * gib],
      ['F3', 4 * gib],
    ] as const)
      await stage(first, fileId, bytes);
    expect(await accepted(asking(second, 'BOTH'))).toBe(true);
    expect(await accepted(asking(third, 'FOUR'))).toBe(true);
  });

  it('counts a container as large as it was written', async () => {
    await accepted(asking(first, 'SIX'));
    await stage(first, 'F1', 3 * gib + 1);
    expect(await accepted(asking(second, 'FOUR'))).toBe(false);
  });

  it('counts one file of a dataset when one was asked for', async () => {
    expect(await accepted(asking(first, 'BOTH', { fileId: 'F3' }))).toBe(true);
    expect(await accepted(asking(second, 'BOTH', { fileId: 'F1' }))).toBe(true);
    expect(await accepted(asking(third, 'BYTE'))).toBe(true);
  });

  it.each([['null'], ['-1'], ['-9000000000000000000']])(
    'takes a body for as large as S3 allows when the catalogue says %s',
    async (size) => {
      await test.sql(`update sda.files set archive_file_size = ${size} where stable_id = 'F1'`);
      expect(await accepted(asking(first, 'BOTH'))).toBe(false);
      expect(await accepted(asking(second, 'BOTH', { fileId: 'F3' }))).toBe(true);
      // Also while its row is open.
      await test.sql(`update sda.files set archive_file_size = 1 where stable_id = 'F1'`);
      expect(await accepted(asking(first, 'BOTH', { fileId: 'F1' }))).toBe(true);
      await test.sql(`update sda.files set archive_file_size = ${size} where stable_id = 'F1'`);
      expect(await accepted(asking(third, 'BYTE'))).toBe(false);
      await test.sql(`update sda.files set archive_file_size = ${3 * gib - 2} where stable_id = 'F1'`);
    },
  );

  it('counts the files whose rows a fan-out has still to write', async () => {
    expect(await requests.accept(asking(first, 'SIX'), ['F1'], { count: 1, isLast: false })).toBe(true);
    expect(await accepted(asking(second, 'FOUR'))).toBe(true);
    expect(await accepted(asking(third, 'BYTE'))).toBe(false);
  });

  it.each([
    ['expired two days ago', "update data_out.request_files set updated_at = now() - interval '32 days'"],
    ['was withdrawn', "update data_out.request_files set state = 'withdrawn'"],
    ['was given up', "update data_out.request_files set state = 'given_up'"],
  ])('is free again when a container %s', async (_, statement) => {
    await accepted(asking(first, 'SIX'));
    await stage(first, 'F1', 3 * gib);
    await stage(first, 'F2', 3 * gib);
    await accepted(asking(second, 'FOUR'));
    await stage(second, 'F3', 4 * gib);
    expect(await accepted(asking(third, 'BYTE'))).toBe(false);
    await test.sql(`${statement} where request_id = '${second}'`);
    expect(await accepted(asking(third, 'BYTE'))).toBe(true);
  });

  // The S3 User Guide's example: an object of 10:30 with an expiry of three days expires at midnight, three days and 13.5 hours
  // later. S3 deletes it after that.
  it.each([
    ['30 days', 30],
    ['3 days 13 hours 29 minutes', 3],
    ['4 days 23 hours', 3],
  ])('is held by a container of %s that expires after %i days', async (age, expiryDays) => {
    const limited = wholeLedger(test.dataApi(), 10, { gib: 10, expiryDays });
    await accepted(asking(first, 'BOTH'));
    for (const fileId of ['F1', 'F2', 'F3']) await stage(first, fileId, 4 * gib);
    await test.sql(`update data_out.request_files set updated_at = now() - interval '${age}'`);
    expect(await limited.accept(asking(second, 'BYTE'), ['F4'], { count: 1, isLast: false })).toBe(false);
    await test.sql("update data_out.request_files set updated_at = updated_at - interval '2 days'");
    expect(await limited.accept(asking(second, 'BYTE'), ['F4'], { count: 1, isLast: false })).toBe(true);
  });

  it('is not held by requests that were rejected or whose fan-out has failed', async () => {
    await accepted(asking(first, 'FOUR'));
    expect(await requests.accept(asking(second, 'SIX'), [], { count: 1, isLast: false })).toBe(true);
    await requests.fail(asking(second, 'SIX'), 'internal_error');
    await requests.reject(asking(third, 'SIX'), 'not_released');
    expect(await accepted(asking('6f2c3d1e-0000-4000-8000-000000000004', 'BYTE'))).toBe(true);
  });
});

it('decides once when the answer to the commit is lost, and asks no more than five calls', async () => {
  test.actions.length = 0;
  expect(await requests.accept(asking(first, 'BOTH'), ['F1', 'F2', 'F3'], { count: 1, isLast: false })).toBe(true);
  expect(test.actions).toEqual([
    'BeginTransaction',
    'ExecuteStatement',
    'ExecuteStatement',
    'ExecuteStatement',
    'CommitTransaction',
  ]);
  test.faults.push({ action: 'CommitTransaction', error: brokenConnection(), carriedOut: true });
  expect(await requests.accept(asking(second, 'SIX'), ['F1', 'F2'], { count: 1, isLast: false })).toBe(true);
  expect(await count('requests')).toBe(2);
});

it('is not asked for without a quota: a request is accepted by one statement', async () => {
  const unlimited = wholeLedger(test.dataApi(), 10);
  test.actions.length = 0;
  expect(await unlimited.accept(asking(first, 'BOTH'), ['F1', 'F2', 'F3'], { count: 1, isLast: false })).toBe(true);
  expect(await unlimited.accept(asking(second, 'BYTE'), ['F4'], { count: 1, isLast: false })).toBe(true);
  expect(test.actions).toEqual(['ExecuteStatement', 'ExecuteStatement']);
});
