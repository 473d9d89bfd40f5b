import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ExportState } from '../../../../lib/contract/export-state.ts';
import { exportRecords } from '../../../../lib/service/ledger/export-status.ts';
import { prepareRole } from '../../../../lib/service/stores/rds/database-role.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';
import { exportRows, type FileCounts, type RequestRow, requestIdOf } from '../../../helpers/export-rows.ts';

const [first, second, third] = [requestIdOf(1), requestIdOf(2), requestIdOf(3)] as const;
const password = 'correct-horse-battery-staple';

let test: TestDatabase;
let status: ReturnType<typeof exportRecords>;
beforeAll(async () => {
  test = await TestDatabase.shared();
  await prepareRole(test.dataApi(), 'data_out_auditor', password);
  test.logins = { 'arn:auditor': { username: 'data_out_auditor', password } };
  // All queries run as the role that the function has.
  status = exportRecords(test.dataApi({ secretArn: 'arn:auditor' }));
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(() => test.deleteFrom('data_out.requests', 'data_out.request_files', 'data_out.export_log'));

async function add(row: Partial<RequestRow>, files?: FileCounts): Promise<void> {
  for (const statement of exportRows({ requestId: first, ...row }, files)) await test.sql(statement);
}

const stateOf = async (requestId = first) => (await status.find('fega', requestId))?.state;
const listed = async (filter: Parameters<typeof status.newest>[1] = {}, page = 0) =>
  (await status.newest('fega', filter, page)).map(({ requestId }) => Number(requestId.slice(-12)));

describe('one request', () => {
  it('has its columns, times in UTC, and the number of files in each state', async () => {
    const times = { requestedAt: '2026-11-21 12:00:00.25+02', sealedAt: '2026-11-21 10:00:05Z' };
    await add({ ...times, generation: 2 }, { staged: 3, retrying: 1, rejected: 2, given_up: 1, superseded: 1 });
    expect(await status.find('fega', first)).toEqual({
      requestId: first,
      state: 'staging',
      reason: null,
      kind: 'dataset',
      dataset: 'EGAD1',
      file: null,
      recipient: 'aa',
      keyFingerprint: 'bb',
      requestedAt: '2026-11-21T10:00:00.250Z',
      sealedAt: '2026-11-21T10:00:05.000Z',
      settledAt: null,
      generation: 2,
      receipt: null,
      counts: {
        total: 8,
        staged: 3,
        superseded: 1,
        withdrawn: 0,
        rejected: 2,
        retrying: 1,
        pending: 0,
        given_up: 1,
      },
      bytes: 30,
    });
  });

  it('is found in either case, and only under its own kind', async () => {
    const requestId = 'abcdef00-0000-4000-8000-000000000000';
    await add({ requestId });
    expect(await status.find('fega', requestId.toUpperCase())).toMatchObject({ requestId });
    expect(await status.find('gdi', requestId)).toBeUndefined();
    expect(await status.find('fega', second)).toBeUndefined();
  });

  it('names its receipt once it is written: by the file, where one file was asked for', async () => {
    await add({ state: 'complete', settledGeneration: 1 });
    expect(await status.find('fega', first)).toMatchObject({ receipt: null });
    await test.sql('update data_out.requests set receipt_generation = 1');
    expect(await status.find('fega', first)).toMatchObject({ receipt: `EGAD1-${first}.delivery.jws` });
    await test.sql("update data_out.requests set kind = 'file', file_id = 'EGAF_1'");
    expect((await status.newest('fega', {}, 0))[0]).toMatchObject({ receipt: `EGAF_5f1-${first}.delivery.jws` });
  });

  it('that the consumer could not read has neither dataset nor recipient', async () => {
    await test.sql(`insert into data_out.requests (request_id, requested_at, archive_kind, state, reason)
      values ('${first}', now(), 'fega', 'rejected', 'malformed_message')`);
    expect(await status.find('fega', first)).toMatchObject({
      state: 'rejected',
      reason: 'malformed_message',
      kind: null,
      dataset: null,
      recipient: null,
      counts: { total: 0 },
      bytes: 0,
    });
  });

  it.each<[ExportState, Partial<RequestRow>, FileCounts]>([
    ['accepted', {}, {}],
    ['accepted', {}, { pending: 2, retrying: 1 }],
    ['staging', {}, { staged: 1 }],
    ['staging', {}, { pending: 1, given_up: 1 }],
    // Between the last file and the function that settles.
    ['staging', { sealedAt: '2026-11-21 10:00:05Z' }, { staged: 2 }],
    ['rejected', { state: 'rejected', reason: 'not_released' }, {}],
    ['complete', { state: 'complete', settledGeneration: 1 }, { staged: 2 }],
    ['incomplete', { state: 'incomplete', settledGeneration: 1 }, { staged: 1, rejected: 1 }],
    ['withdrawn', { state: 'withdrawn', settledGeneration: 1 }, { withdrawn: 2 }],
    ['failed', { state: 'failed' }, { given_up: 2 }],
    // The fan-out was given up while files were on their way.
    ['staging', { state: 'failed' }, { pending: 1, given_up: 1 }],
    // A dead letter was moved back.
    ['staging', { state: 'incomplete', generation: 2, settledGeneration: 1 }, { pending: 1, staged: 1 }],
    ['staging', { state: 'complete', generation: 2, settledGeneration: 1 }, { withdrawn: 2 }],
  ])('is %s with %o and %o', async (state, row, files) => {
    await add(row, files);
    expect(await stateOf()).toBe(state);
    expect((await status.newest('fega', { state }, 0)).map((each) => each.state)).toEqual([state]);
  });
});

describe('the files of a request', () => {
  it('come in the order of their ids, with state and reason', async () => {
    await add({}, { staged: 1, given_up: 1 });
    await test.sql(`insert into data_out.request_files (request_id, file_id, state, superseded_by, updated_at)
      values ('${first}', 'EGAF9', 'superseded', '${second}', '2026-11-21 12:00:01+02')`);
    const changedAt = '2026-11-21T10:00:01.000Z';
    const common = { reason: null, supersededBy: null, bytes: null, changedAt };
    expect(await status.files(first, 0)).toEqual([
      { ...common, fileId: 'EGAF00000000001', state: 'staged', bytes: 10 },
      { ...common, fileId: 'EGAF00000000002', state: 'given_up', reason: 'no_body' },
      { ...common, fileId: 'EGAF9', state: 'superseded', supersededBy: second },
    ]);
  });

  it('come 1,000 per page', async () => {
    await add({}, { staged: 2001 });
    await add({ requestId: second }, { staged: 1 });
    const pages = await Promise.all([0, 1, 2, 3].map((page) => status.files(first, page)));
    expect(pages.map(({ length }) => length)).toEqual([1000, 1000, 1, 0]);
    expect(pages[1]?.[0]?.fileId).toBe('EGAF00000001001');
  });
});

describe('the list', () => {
  it('is newest first, 100 per page, and of one kind', async () => {
    const at = (index: number) => `2026-11-21 10:00:00+00'::timestamptz + interval '${index} s`;
    for (let index = 0; index < 101; index += 1) await add({ requestId: requestIdOf(index), requestedAt: at(index) });
    await add({ requestId: requestIdOf(500), archiveKind: 'gdi' });
    const pages = [await listed(), await listed({}, 1), await listed({}, 2)];
    expect(pages.map(({ length }) => length)).toEqual([100, 1, 0]);
    expect([pages[0]?.[0], pages[0]?.[99], pages[1]?.[0]]).toEqual([100, 1, 0]);
  });

  it('takes a state and a time, both together', async () => {
    await add({ requestedAt: '2026-11-21 10:00:00+00', state: 'complete' }, { staged: 1 });
    await add({ requestId: second, requestedAt: '2026-11-21 10:00:01+00', state: 'complete' }, { staged: 1 });
    await add({ requestId: third, requestedAt: '2026-11-21 10:00:02+00', state: 'rejected' });
    const since = new Date('2026-11-21T10:00:01Z');
    expect(await listed({ state: 'complete' })).toEqual([2, 1]);
    expect(await listed({ since })).toEqual([3, 2]);
    expect(await listed({ since, state: 'complete' })).toEqual([2]);
    expect(await listed({ since: new Date('0000-01-01T00:00:00Z') })).toEqual([3, 2, 1]);
    expect(await listed({ since: new Date('9999-12-31T23:59:59-12:00') })).toEqual([]);
  });

  it('counts what is under way, and takes what is settled from the columns', async () => {
    await add({ files: 1 }, { staged: 2, pending: 1, retrying: 3, rejected: 1 });
    const settled = { state: 'incomplete', files: 7, staged: 6, stagedBytes: 600, settledGeneration: 1 };
    await add({ requestId: second, requestedAt: '2026-11-20 10:00:00+00', ...settled });
    await add({ requestId: third, requestedAt: '2026-11-19 10:00:00+00', state: 'rejected' });
    const rows = await status.newest('fega', {}, 0);
    expect(rows.map(({ state, counts, bytes }) => ({ state, ...counts, bytes }))).toEqual([
      { state: 'staging', total: 7, staged: 2, pending: 1, retrying: 3, bytes: 20 },
      { state: 'incomplete', total: 7, staged: 6, pending: 0, retrying: 0, bytes: 600 },
      { state: 'rejected', total: 0, staged: 0, pending: 0, retrying: 0, bytes: 0 },
    ]);
  });

  it.each([
    ['not settled yet', {}],
    ['settled', { settledGeneration: 1, staged: 2, stagedBytes: 20, settledAt: '2026-11-21 10:00:05Z' }],
  ])('counts the files of a failed request as the request alone does: %s', async (_, columns) => {
    // Of five files, three were sent before the fan-out was given up.
    const failed = { state: 'failed', reason: 'no_answer', files: 3, closed: 2 };
    await add({ ...failed, ...columns }, { staged: 2, given_up: 3 });
    const [row] = await status.newest('fega', {}, 0);
    const shown = await status.find('fega', first);
    expect(row).toMatchObject({ state: 'failed', counts: { total: 5, staged: 2, pending: 0, retrying: 0 }, bytes: 20 });
    expect(shown).toMatchObject({ ...row, counts: { ...row?.counts, given_up: 3 } });
  });

  it('counts at most 100,000 files under way, and says which requests it did not count', async () => {
    for (const [index, files] of [60_000, 40_000, 1].entries()) {
      await add(
        { requestId: requestIdOf(index), requestedAt: `2026-11-2${9 - index} 10:00:00+00`, files },
        { pending: 1 },
      );
    }
    const rows = await status.newest('fega', {}, 0);
    expect(rows.map(({ counts, bytes }) => ({ ...counts, bytes }))).toEqual([
      { total: 1, staged: 0, pending: 1, retrying: 0, bytes: 0 },
      { total: 1, staged: 0, pending: 1, retrying: 0, bytes: 0 },
      { total: 1, staged: null, pending: null, retrying: null, bytes: null },
    ]);
  });
});
