import { describe, expect, test } from 'vitest';
import { type LiveReply, OpenApi } from '../../helpers/openapi.ts';

const api = OpenApi.read('data-out');
const headers = {
  'x-request-id': 'r1',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-type': 'application/json',
};
const reply = (
  changes: Omit<Partial<LiveReply>, 'headers'> & { headers?: Record<string, string> } = {},
): LiveReply => ({
  method: 'GET',
  path: '/metadata/datasets',
  status: 200,
  body: '["EGAD1"]',
  ...changes,
  headers: Object.entries({ ...headers, ...changes.headers }).filter(([, value]) => value !== ''),
});
const problem = { type: 'about:blank', title: 'x', status: 416, code: 'range_not_satisfiable', requestId: 'r1' };
const range = { path: '/files/EGAF1', status: 416, body: JSON.stringify(problem) };
const problemType = { 'content-type': 'application/problem+json' };

describe('a reply', () => {
  test('that fits the document passes, and is remembered', async () => {
    await api.check(reply());
    await api.check(reply({ ...range, headers: { ...problemType, 'content-range': 'bytes */9' } }));
    expect([...api.seen]).toEqual(['GET /metadata/datasets 200', 'GET /files/{fileId} 416']);
  });

  test.each<[string, LiveReply, RegExp]>([
    ['of an unknown path', reply({ path: '/elsewhere' }), /\/elsewhere: not in the document/],
    ['of an unknown method', reply({ method: 'PUT' }), /not in the document/],
    ['with an unknown status', reply({ status: 418 }), /418: not in the document/],
    ['without a header', reply({ headers: { 'x-request-id': '' } }), /no header X-Request-Id/],
    ['with another header', reply({ headers: { etag: '"x"' } }), /header etag is not in the document/],
    [
      'with a header of another value',
      reply({ headers: { 'cache-control': 'public' } }),
      /header Cache-Control: .*const/,
    ],
    ['of another media type', reply({ headers: { 'content-type': 'text/html' } }), /media type text\/html/],
    ['with another body', reply({ body: '[7]' }), /items\/type/],
    ['of a HEAD with a body', reply({ method: 'HEAD', path: '/files/EGAF1', status: 403 }), /a HEAD has a body/],
    [
      'with another code',
      reply({
        ...range,
        body: JSON.stringify({ ...problem, code: 'forbidden' }),
        headers: { ...problemType, 'content-range': 'bytes */9' },
      }),
      /code\/enum/,
    ],
    [
      'with a member too many',
      reply({
        ...range,
        body: JSON.stringify({ ...problem, token: 'x' }),
        headers: { ...problemType, 'content-range': 'bytes */9' },
      }),
      /additionalProperties/,
    ],
  ])('%s fails', async (_, wrong, message) => {
    await expect(api.check(wrong)).rejects.toThrow(message);
  });
});
