import { expect, test } from 'vitest';
import { baseUrlOf, originOf } from '../../../../lib/service/http/api-gateway.ts';

const event = (domainName: string, path: string, headers: Record<string, string> = {}) => ({
  headers,
  resource: '/ga4gh/drs/v1/objects/{object_id}',
  requestContext: { domainName, path },
});
const host = 'abc123.execute-api.eu-north-1.amazonaws.com';

test.each([
  ['the stage of the gateway’s own name', event(host, '/v1/ga4gh/drs/v1/objects/EGAF1'), `https://${host}/v1`],
  ['a custom domain', event('data.example.org', '/ga4gh/drs/v1/objects/EGAF1'), 'https://data.example.org'],
  [
    'a custom domain with a base path',
    event('data.example.org', '/archive/ga4gh/drs/v1/objects/EGAF1'),
    'https://data.example.org/archive',
  ],
  [
    'an engine on this machine, with its port',
    event('127.0.0.1', '/v1/ga4gh/drs/v1/objects/x', { Host: '127.0.0.1:4100', 'X-Forwarded-Proto': 'http' }),
    'http://127.0.0.1:4100/v1',
  ],
])('%s', (_, from, url) => {
  expect(baseUrlOf(from)).toBe(url);
  expect(originOf(from)).toBe(new URL(url).origin);
});

test('no header of the caller leads a token elsewhere, or to a URL that is not encrypted', () => {
  const headers = { Host: 'evil.example', 'X-Forwarded-Proto': 'http', 'X-Forwarded-Host': 'evil.example' };
  expect(baseUrlOf(event(host, '/v1/ga4gh/drs/v1/objects/x', headers))).toBe(`https://${host}/v1`);
});
