import { expect, test } from 'vitest';
import type { DataOutError } from '../../../../lib/errors.ts';
import { requestedCoordinates } from '../../../../lib/service/direct/file-request.ts';
import { httpRequest, type RequestParts } from '../../../helpers/http-request.ts';

const coordinates = (parts: RequestParts) => requestedCoordinates(httpRequest(parts));
const query = (startCoordinate: string | readonly string[], endCoordinate: string | readonly string[]) => ({
  query: { startCoordinate, endCoordinate },
});

test('are two whole numbers, the second the greater', () => {
  expect(coordinates(query('0', '1'))).toEqual({ start: 0, end: 1 });
  expect(coordinates(query('70000', '9007199254740991'))).toEqual({ start: 70_000, end: 9_007_199_254_740_991 });
  expect(coordinates({ query: {} })).toBeUndefined();
});

test.each([
  ['no end', { query: { startCoordinate: '5' } }, ['endCoordinate']],
  ['no start', { query: { endCoordinate: '5' } }, ['startCoordinate']],
  ['the same twice', query('5', '5'), ['endCoordinate']],
  ['turned round', query('6', '5'), ['endCoordinate']],
  ['negative', query('-1', '5'), ['startCoordinate']],
  ['fractions', query('0.5', '1.5'), ['startCoordinate', 'endCoordinate']],
  ['other notations', query('0x1', '1e3'), ['startCoordinate', 'endCoordinate']],
  ['beyond 2^53', query('0', '9007199254740992'), ['endCoordinate']],
  ['empty', query('', ' '), ['startCoordinate', 'endCoordinate']],
  ['a word alone', { query: { startCoordinate: 'a' } }, ['startCoordinate', 'endCoordinate']],
  ['start given twice', query(['1', '1'], '5'), ['startCoordinate']],
  ['beside Range', { ...query('1', '5'), headers: { Range: 'bytes=0-1' } }, ['Range']],
])('%s: every broken rule is named', (_, parts, fields) => {
  let thrown: unknown;
  try {
    coordinates(parts);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ code: 'invalid_request' });
  expect((thrown as DataOutError).violations?.map(({ field }) => field)).toEqual(fields);
});
