import { beforeEach, describe, expect, test } from 'vitest';
import type { ExportState } from '../../../../lib/contract/export-state.ts';
import { type ExportRecords, exportRecords } from '../../../../lib/service/export/export-records.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';

const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
const [first, second, third] = [idOf(1), idOf(2), idOf(3)] as const;

let database: TestDatabase;
let records: ExportRecords;
beforeEach(async () => {
  database = await TestDatabase.shared();
  records = exportRecords(database.dataApi());
});

/** A request for EGAD1, with its columns in SQL, and so many files in each state. A container has ten bytes. */
async function add(
  requestId: string,
  columns: Readonly<Record<string, string | number>>,
  files: Readonly<Record<string, number>> = {},
) {
  const counts = Object.entries(files);
  const all = {
    ...{
      request_id: requestId,
      requested_at: '2026-11-21 10:00:00+00',
      archive_kind: 'fega',
      kind: 'dataset',
      dataset_id: 'EGAD1',
    },
    ...{
      recipient: 'aa',
      key_fingerprint: 'bb',
      state: 'accepted',
      files: counts.reduce((sum, [, count]) => sum + count, 0),
    },
    ...columns,
  };
  const values = Object.values(all).map((value) => `'${value}'`);
  await database.sql(`insert into data_out.requests (${Object.keys(all).join()}) values (${values.join()})`);
  for (const [index, [state, count]] of counts.entries()) {
    await database.sql(`insert into data_out.request_files (request_id, file_id, state, reason, bytes, changed_at)
      select '${requestId}', 'EGAF${index}' || to_char(n, 'FM0000'), '${state}',
        ${['sent', 'rejected', 'given_up'].includes(state) ? "'no_body'" : 'null'}, 10, '2026-11-21 10:00:01+00'
      from generate_series(1, ${count}) n`);
  }
}
const settled = (state: string, columns = {}) => ({
  state,
  settled_revision: 1,
  settled_at: '2026-11-21 10:00:05Z',
  ...columns,
});
const listed = async (filter: Parameters<ExportRecords['newest']>[1] = {}, page = 0) =>
  (await records.newest('fega', filter, page)).map(({ requestId }) => Number(requestId.slice(-12)));

describe('one request', () => {
  test('has its columns, times in UTC, and the number of files in each state', async () => {
    await add(
      first,
      { requested_at: '2026-11-21 12:00:00.25+02', revision: 2, ...settled('incomplete'), receipt: 'r.delivery.jws' },
      { staged: 3, waiting: 1, sent: 2, rejected: 2, given_up: 1, superseded: 1, withdrawn: 1 },
    );
    expect(await records.find('fega', first)).toEqual({
      ...{ requestId: first, state: 'staging', reason: null, kind: 'dataset', dataset: 'EGAD1', file: null },
      ...{ recipient: 'aa', keyFingerprint: 'bb', generation: 2, receipt: 'r.delivery.jws', bytes: 30 },
      ...{ requestedAt: '2026-11-21T10:00:00.250Z', settledAt: '2026-11-21T10:00:05.000Z' },
      counts: { total: 11, staged: 3, superseded: 1, withdrawn: 1, rejected: 2, pending: 3, given_up: 1 },
    });
  });

  test('is found in either case, and only under its own kind', async () => {
    const requestId = 'abcdef00-0000-4000-8000-000000000000';
    await add(requestId, {});
    expect(await records.find('fega', requestId.toUpperCase())).toMatchObject({ requestId });
    expect(await records.find('gdi', requestId)).toBeUndefined();
    expect(await records.find('fega', second)).toBeUndefined();
  });

  test('that could not be read has neither dataset nor recipient', async () => {
    await database.sql(`insert into data_out.requests (request_id, requested_at, archive_kind, state, reason, settled_revision)
      values ('${first}', now(), 'fega', 'rejected', 'malformed_message', 1)`);
    expect(await records.find('fega', first)).toMatchObject({
      ...{ state: 'rejected', reason: 'malformed_message', kind: null, dataset: null, recipient: null, bytes: 0 },
      counts: { total: 0 },
    });
  });

  test.each<[ExportState, Record<string, string | number>, Record<string, number>]>([
    ['accepted', {}, { waiting: 2, sent: 1 }],
    ['staging', {}, { sent: 1, given_up: 1 }],
    // Between the last file and the function that settles.
    ['staging', {}, { staged: 2 }],
    ['rejected', settled('rejected'), {}],
    ['complete', settled('complete'), { staged: 2 }],
    ['incomplete', settled('incomplete'), { staged: 1, rejected: 1 }],
    ['withdrawn', settled('withdrawn'), { withdrawn: 2 }],
    // After a retry, and after a withdrawal.
    ['staging', settled('incomplete', { revision: 2 }), { waiting: 2 }],
    ['staging', settled('complete', { revision: 2 }), { withdrawn: 2 }],
  ])('is %s with %o and %o', async (state, columns, files) => {
    await add(first, columns, files);
    expect(await records.find('fega', first)).toMatchObject({ state });
    expect((await records.newest('fega', { state }, 0)).map((each) => each.state)).toEqual([state]);
  });
});

test('the files of a request come in the order of their ids, with state and reason', async () => {
  await add(first, {}, { staged: 1, given_up: 1, sent: 1, waiting: 1, superseded: 1 });
  await database.sql(`update data_out.request_files set superseded_by = '${second}' where state = 'superseded'`);
  const common = { reason: null, supersededBy: null, bytes: null, changedAt: '2026-11-21T10:00:01.000Z' };
  expect(await records.files(first, 0)).toEqual([
    { ...common, fileId: 'EGAF00001', state: 'staged', bytes: 10 },
    { ...common, fileId: 'EGAF10001', state: 'given_up', reason: 'no_body' },
    { ...common, fileId: 'EGAF20001', state: 'pending', reason: 'no_body' },
    { ...common, fileId: 'EGAF30001', state: 'pending' },
    { ...common, fileId: 'EGAF40001', state: 'superseded', supersededBy: second },
  ]);
});

describe('the list', () => {
  test('is newest first, 100 per page, and of one kind', async () => {
    await database.sql(`insert into data_out.requests (request_id, requested_at, archive_kind, state)
      select cast('00000000-0000-4000-8000-' || to_char(n, 'FM000000000000') as uuid),
        timestamptz '2026-11-21 10:00:00+00' + make_interval(secs => n / 2), case n when 50 then 'gdi' else 'fega' end, 'accepted'
      from generate_series(0, 101) n`);
    const pages = [await listed(), await listed({}, 1), await listed({}, 2)];
    expect(pages.map(({ length }) => length)).toEqual([100, 1, 0]);
    expect(pages.flat()).toEqual(Array.from({ length: 102 }, (_, n) => 101 - n).filter((n) => n !== 50));
  });

  test('takes a state and a time, both together', async () => {
    await add(first, settled('complete'));
    await add(second, settled('complete', { requested_at: '2026-11-21 10:00:01+00' }));
    await add(third, settled('rejected', { requested_at: '2026-11-21 10:00:02+00' }));
    const since = new Date('2026-11-21T10:00:01Z');
    expect(await listed({ state: 'complete' })).toEqual([2, 1]);
    expect(await listed({ since })).toEqual([3, 2]);
    expect(await listed({ since, state: 'complete' })).toEqual([2]);
    expect(await listed({ since: new Date('0000-01-01T00:00:00Z') })).toEqual([3, 2, 1]);
    expect(await listed({ since: new Date('9999-12-31T23:59:59-12:00') })).toEqual([]);
  });

  test('counts what is under way, and takes what is settled from the columns', async () => {
    await add(first, { files: 7 }, { staged: 2, waiting: 1, sent: 3, rejected: 1 });
    await add(second, settled('incomplete', { requested_at: '2026-11-20', files: 7, staged: 6, staged_bytes: 600 }));
    await add(third, settled('rejected', { requested_at: '2026-11-19' }));
    const rows = await records.newest('fega', {}, 0);
    expect(rows.map(({ state, counts, bytes }) => ({ state, ...counts, bytes }))).toEqual([
      { state: 'staging', total: 7, staged: 2, pending: 4, bytes: 20 },
      { state: 'incomplete', total: 7, staged: 6, pending: 0, bytes: 600 },
      { state: 'rejected', total: 0, staged: 0, pending: 0, bytes: 0 },
    ]);
  });

  test('counts at most 100,000 files under way, and says which requests it did not count', async () => {
    for (const [index, files] of [60_000, 40_000, 1].entries())
      await add(idOf(index), { requested_at: `2026-11-2${9 - index}`, files }, { sent: 1 });
    const rows = await records.newest('fega', {}, 0);
    expect(rows.map(({ counts, bytes }) => ({ ...counts, bytes }))).toEqual([
      { total: 60_000, staged: 0, pending: 1, bytes: 0 },
      { total: 40_000, staged: 0, pending: 1, bytes: 0 },
      { total: 1, staged: null, pending: null, bytes: null },
    ]);
  });
});
