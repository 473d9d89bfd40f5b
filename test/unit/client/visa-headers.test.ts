import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { connect } from '../../../lib/client/connection.ts';
import { ProxyApi } from '../../../lib/client/proxy.ts';
import { Transport } from '../../../lib/client/transport.ts';

/** Headers of a listing with a visa of so many bytes. */
async function headersWith(visaBytes: number): Promise<IncomingHttpHeaders> {
  let seen: IncomingHttpHeaders = {};
  const server = createServer((request, response) => {
    seen = request.headers;
    response.end('{"files":[]}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await using transport = new Transport({ userAgent: 'test' });
  const visa = async () => 'v'.repeat(visaBytes);
  const basic = async () => ({ username: 'central', password: 'pass' });
  const api = new ProxyApi(connect({ proxyUrl: `http://127.0.0.1:${port}/v1/`, visa, basic, transport }));
  await api.listPage({ page: 0, perPage: 1 });
  server.close();
  return seen;
}

const bytesOf = (headers: IncomingHttpHeaders) =>
  Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + String(value).length + 4, 0);

test('the visa goes both ways, beside the user name and password', async () => {
  const headers = await headersWith(1_000);
  const visa = 'v'.repeat(1_000);
  expect(headers).toMatchObject({ 'proxy-authorization': `Bearer ${visa}`, 'x-ga4gh-visa': visa });
  expect(headers.authorization).toBe('Basic Y2VudHJhbDpwYXNz');
});

test.each([4_500, 4_501, 9_000])('with a visa of %i bytes all headers fit the 10,240 of API Gateway', async (bytes) => {
  const headers = await headersWith(bytes);
  expect(headers['x-ga4gh-visa']).toHaveLength(bytes);
  expect(bytesOf(headers)).toBeLessThan(10_240);
});
