import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, type RawReply, type RawRequest, rawRequest } from '../helpers/raw-http.ts';
import { basic, Service } from '../helpers/service.ts';

const name = 'EGAF00000000001-sample.bam.c4gh';
const routes: readonly (readonly [string, string])[] = [
  ['GET', 'files?inbox=false'],
  ['GET', `stream/${name}`],
  ['GET', 'stream/nothing.c4gh'],
  ['HEAD', `stream/${name}`],
];
let service: Service;
let visa: string;

beforeAll(async () => {
  service = await Service.shared();
  await service.putStaged('researcher', name, 'container');
  visa = await service.visa();
});
afterAll(() => service?.stop());

const password = () => ({ Authorization: basic(service.connection.archiveUser) });
const call = (method: string, path: string, headers: RawRequest['headers']): Promise<RawReply> =>
  rawRequest(service.connection.proxyUrl, path, { method, headers: headers ?? {} });

describe.each(routes)('%s %s, refused', (method, path) => {
  const cases: readonly (readonly [string, () => Promise<RawRequest['headers']>, string])[] = [
    ['nothing', async () => ({}), 'a visa is missing: send Proxy-Authorization: Bearer, or X-GA4GH-Visa'],
    [
      'a password alone',
      async () => password(),
      'a visa is missing: send Proxy-Authorization: Bearer, or X-GA4GH-Visa',
    ],
    [
      'a visa alone',
      async () => ({ 'X-GA4GH-Visa': visa }),
      "the central archive's credentials are missing: send Authorization: Basic",
    ],
    [
      'a wrong password',
      async () => ({ 'X-GA4GH-Visa': visa, Authorization: basic({ username: 'stranger', password: 'x' }) }),
      "the central archive's user name or password is wrong",
    ],
    [
      'an expired visa',
      async () => ({ 'X-GA4GH-Visa': await service.visa({ claims: { exp: 1000 } }), ...password() }),
      'the visa was refused (expired): the token has expired',
    ],
  ];

  test.each(cases)('%s: 401 with the one real challenge, and the reason', async (_, headers, detail) => {
    const reply = await call(method, path, await headers());
    expect(reply.headers['www-authenticate']).toBe('Basic realm="data-out", charset="UTF-8"');
    expect(reply.headers['x-amzn-remapped-www-authenticate']).toBeUndefined();
    if (method === 'HEAD') expect([reply.status, reply.text]).toEqual([401, '']);
    else expect(expectProblem(reply, 401, 'unauthenticated').detail).toBe(detail);
  });

  test('headers that come twice: 400 with every violation, and nothing is served', async () => {
    for (const headers of [
      { 'X-GA4GH-Visa': [visa, visa], ...password() },
      { 'X-GA4GH-Visa': visa, Authorization: [password().Authorization, password().Authorization] },
      { 'X-GA4GH-Visa': 'a.b.c', 'Proxy-Authorization': `Bearer ${visa}`, ...password() },
    ]) {
      const reply = await call(method, path, headers);
      expect(reply.status).toBe(400);
      expect(reply.headers.location).toBeUndefined();
      if (method !== 'HEAD') expectProblem(reply, 400, 'invalid_request');
    }
  });
});

test('list and stream ask the database nothing: their authorizer does', async () => {
  await service.engine.functions.recycle();
  service.engine.traffic.resetCounters();
  for (const [method, path] of routes) await call(method, path, { 'X-GA4GH-Visa': visa, ...password() });
  const asking = Object.keys(service.engine.traffic.counters()).filter((key) => key.includes('rds-data'));
  expect(asking).toEqual([expect.stringMatching(/^authorize-outbox rds-data ExecuteStatement/)]);
});

test('an administrator without the role is 403 from the function, without a challenge', async () => {
  const reply = await rawRequest(service.connection.proxyUrl, 'export/fega', {
    method: 'POST',
    headers: { Authorization: basic(service.engine.accounts.withoutRole) },
    body: '{}',
  });
  expect(expectProblem(reply, 403, 'forbidden').detail).toBe('This takes the role ADMIN. Use an account that has it.');
  expect(reply.headers['www-authenticate']).toBeUndefined();
  expect(service.engine.traffic.counters()).not.toHaveProperty('export sqs SendMessage');
});

test('direct access says why, too', async () => {
  const expired = await service.visa({ claims: { exp: 1000 } });
  const reply = await service.direct('metadata/datasets', expired);
  expect(expectProblem(reply, 401, 'unauthenticated').detail).toBe(
    'the visa was refused (expired): the token has expired',
  );
  expect(reply.headers['www-authenticate']).toBe('Bearer realm="data-out"');
});
