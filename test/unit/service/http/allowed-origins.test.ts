import { describe, expect, test } from 'vitest';
import { allowedOrigin, preflightHeaders, withAllowedOrigin } from '../../../../lib/service/http/origins.ts';

const genome = 'https://genome.example.org';
const origins = new Set([genome, 'http://localhost:8080']);
const from = (...origin: string[]) => ({ headers: new Map([['origin', origin]]) });
const reply = { status: 200, headers: { A: 'b' }, body: '' };
const allowed = { methods: 'GET, POST', headers: ['Authorization', 'Range'] };

test('a page of a listed origin may read the reply, without cookies', () => {
  expect(withAllowedOrigin(reply, from(genome), origins).headers).toEqual({
    A: 'b',
    Vary: 'Origin',
    'Access-Control-Allow-Origin': genome,
    'Access-Control-Expose-Headers': 'Content-Length, Content-Range, ETag, X-Request-Id',
  });
  expect(preflightHeaders(from(genome), origins, allowed)).toEqual({
    'Access-Control-Allow-Methods': 'GET, POST',
    'Access-Control-Allow-Headers': 'Authorization, Range',
    'Access-Control-Max-Age': '2592000',
  });
});

describe.each([
  ['another origin', from('https://genome.example.com')],
  ['a longer name', from(`${genome}.example.com`)],
  ['another port', from(`${genome}:444`)],
  ['no origin', from()],
  ['two origins', from(genome, genome)],
  ['a sandbox', from('null')],
])('%s', (_, request) => {
  test('may not, and a cache learns that this depends on the origin', () => {
    expect(allowedOrigin(request, origins)).toBeUndefined();
    expect(withAllowedOrigin(reply, request, origins).headers).toEqual({ A: 'b', Vary: 'Origin' });
    expect(preflightHeaders(request, origins, allowed)).toEqual({});
  });
});

test('without listed origins the reply stays as it is', () => {
  expect(withAllowedOrigin(reply, from(genome), new Set())).toBe(reply);
});
