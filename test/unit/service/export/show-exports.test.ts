import { beforeEach, describe, expect, test } from 'vitest';
import type { ListedExport, ShownExport } from '../../../../lib/contract/export-state.ts';
import { isError } from '../../../../lib/errors.ts';
import type { ExportFilter, ExportRecords } from '../../../../lib/service/export/export-records.ts';
import { listExports, showExport } from '../../../../lib/service/export/show-exports.ts';
import { shownExport } from '../../../helpers/export-states.ts';
import { httpRequest, type RequestParts } from '../../../helpers/http-request.ts';

const requestId = '0b9d7a52-5f6e-4c1a-9a39-0d2f3f1f2a11';
const shown: ShownExport = shownExport({ requestId }, { pending: 1 });
const listed: ListedExport = { ...shown, counts: { total: 1, staged: 0, pending: 1 } };
const file = {
  fileId: 'EGAF00000000001',
  state: 'pending',
  reason: null,
  supersededBy: null,
  bytes: null,
  changedAt: '2026-11-21T10:00:01.000Z',
} as const;

/** What the database was asked. */
const asked: unknown[] = [];
beforeEach(() => {
  asked.length = 0;
});

const records: ExportRecords = {
  find: async (archiveKind, id) => {
    asked.push(['find', archiveKind, id]);
    return id === requestId && archiveKind === 'fega' ? shown : undefined;
  },
  files: async (id, page) => {
    asked.push(['files', id, page]);
    return [file];
  },
  newest: async (archiveKind: string, filter: ExportFilter, page: number) => {
    asked.push(['newest', archiveKind, filter, page]);
    return [listed];
  },
};
const endpoint = { archiveKind: 'fega', records };

const common = { method: 'GET', authorizer: { isAdministrator: 'true' } };
const list = (parts: RequestParts = {}) =>
  listExports(httpRequest({ ...common, path: '/export/fega', ...parts }), endpoint);
const show = (id = requestId, parts: RequestParts = {}) =>
  showExport(
    httpRequest({ ...common, path: `/export/fega/${id}`, pathParameters: { requestId: id }, ...parts }),
    endpoint,
  );

async function fieldsOf(reply: Promise<unknown>): Promise<readonly string[]> {
  const error: unknown = await reply.catch((reason: unknown) => reason);
  if (!isError(error, 'invalid_request')) throw error;
  expect(asked).toEqual([]);
  return error.violations!.map(({ field }) => field);
}

test.each([[{ isAdministrator: 'false' }], [{}], [{ isAdmitted: 'true' }]])(
  'without the role, as %o says, nothing is read',
  async (authorizer) => {
    await expect(list({ authorizer })).rejects.toThrow(expect.objectContaining({ code: 'forbidden' }));
    await expect(show(requestId, { authorizer })).rejects.toThrow(expect.objectContaining({ code: 'forbidden' }));
    await expect(show('no-uuid', { authorizer })).rejects.toThrow(expect.objectContaining({ code: 'forbidden' }));
    expect(asked).toEqual([]);
  },
);

describe('one export', () => {
  test('is its record with one page of its files', async () => {
    const { status, headers, body } = await show();
    expect([status, headers['Cache-Control']]).toEqual([200, 'no-store']);
    expect(JSON.parse(body)).toEqual({ ...shown, files: [file], page: 0 });
    await show(requestId, { query: { page: '12' } });
    expect(asked.at(-1)).toEqual(['files', requestId, 12]);
  });

  test('that has no record is not found: it was never made, or not consumed yet', async () => {
    const other = '0b9d7a52-5f6e-4c1a-9a39-0d2f3f1f2a12';
    await expect(show(other)).rejects.toThrow(expect.objectContaining({ code: 'not_found' }));
    await expect(show(other)).rejects.toThrow('There is no such request, or it was not consumed yet.');
    expect(asked.flat()).not.toContain('files');
  });

  test.each([[''], [`${requestId}\n`], ['00000000-0000-0000-0000-00000000000g'], ['\0']])(
    'of the id %o is a mistake in requestId',
    async (id) => {
      expect(await fieldsOf(show(id))).toEqual(['requestId']);
    },
  );

  test('names every mistake', async () => {
    expect(await fieldsOf(show('x', { query: { page: 'y' } }))).toEqual(['requestId', 'page']);
  });
});

describe('the list', () => {
  test('is one page of the newest', async () => {
    const { status, body } = await list();
    expect([status, JSON.parse(body)]).toEqual([200, { exports: [listed], page: 0 }]);
    expect(asked).toEqual([['newest', 'fega', { state: undefined, since: undefined }, 0]]);
  });

  test.each([
    ['2026-11-22', '2026-11-22T00:00:00.000Z'],
    ['2026-11-22T08:00:00Z', '2026-11-22T08:00:00.000Z'],
    ['2026-11-22T08:00:00.5+01:00', '2026-11-22T07:00:00.500Z'],
  ])('takes state, time and page: since %s', async (since, time) => {
    const { body } = await list({ query: { state: 'withdrawn', since, page: '9999' } });
    expect(JSON.parse(body)).toMatchObject({ page: 9999 });
    expect(asked).toEqual([['newest', 'fega', { state: 'withdrawn', since: new Date(time) }, 9999]]);
  });

  test.each([
    ['state', 'failed'],
    ['state', 'constructor'],
    ['since', 'yesterday'],
    ['since', '2026-02-30'],
    ['since', '2026-11-22T08:00:00 01:00'],
    ['page', '-1'],
    ['page', '10000'],
    ['page', '1e3'],
    ['page', '٣'],
  ])('refuses %s=%o', async (name, value) => {
    expect(await fieldsOf(list({ query: { [name]: value } }))).toEqual([name]);
  });

  test('names every mistake, also a parameter that is given twice', async () => {
    expect(await fieldsOf(list({ query: { state: 'x', since: 'y', page: 'z' } }))).toEqual(['state', 'since', 'page']);
    expect(await fieldsOf(list({ query: { page: ['1', '1'] } }))).toEqual(['page']);
  });
});
