import { expect, test } from 'vitest';
import { parsePage } from '../../../../lib/service/outbox/list-files.ts';
import { httpRequest } from '../../../helpers/http-request.ts';

const parse = (query: Record<string, string | string[]>) => parsePage(httpRequest({ query }));

test.each([
  [{}, 0, 50_000],
  [{ page: '0', per_page: '50000' }, 0, 50_000],
  [{ page: '3', per_page: '1' }, 3, 1],
  [{ page: '999999999', per_page: '50000' }, 999_999_999, 50_000],
  [{ per_page: '1001' }, 0, 1001],
  // The stock client's way of saying "the defaults".
  [{ page: '-1', per_page: '0' }, 0, 50_000],
  [{ page: '-5', per_page: '-1' }, 0, 50_000],
  [{ receipts: 'false' }, 0, 50_000],
  [{ unknown: 'parameter' }, 0, 50_000],
])('%j is page %i of %i rows', (query, page, perPage) => {
  expect(parse({ inbox: 'false', ...query })).toEqual({ page, perPage, receipts: false });
});

test('rows begin behind a file name, and clients that write False are understood', () => {
  const query = { inbox: 'False', per_page: '7', after: 'EGAF1-a.c4gh', receipts: 'True' };
  expect(parse(query)).toEqual({ page: 0, perPage: 7, after: 'EGAF1-a.c4gh', receipts: true });
});
