import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { ApiClient, type ApiClientOptions, type CallRecord } from '../../../../lib/ops/retirement/api-client.ts';
import { RegistryServer, repositoryToken } from '../../../helpers/registry-server.ts';
import { fakeTiming } from '../../../helpers/retirement-world.ts';

let server: RegistryServer;
beforeAll(async () => {
  server = await RegistryServer.start();
});
afterAll(() => server.stop());
beforeEach(() => server.reset());

const anything = z.looseObject({});
const releases = '/repos/acme/archive/releases/10';

function open(choices: Partial<ApiClientOptions> = {}) {
  const timing = fakeTiming();
  const records: CallRecord[] = [];
  const client = new ApiClient({
    baseUrl: server.url,
    token: repositoryToken,
    tokenName: 'REGISTRY_REPO_TOKEN',
    scope: 'repo',
    timing,
    signal: new AbortController().signal,
    timeoutMs: 5000,
    record: (call) => void records.push(call),
    note: () => {},
    ...choices,
  });
  return { client, records, slept: timing.slept };
}

test('a call without an answer is given up, and sent again', async () => {
  server.faults.set(0, 'hang');
  const { client, records, slept } = open({ timeoutMs: 400 });
  await client.find(releases, anything);
  expect(slept).toEqual([1000]);
  expect(records.map(({ status }) => status)).toEqual([null, 200]);
  expect(records[0]!.failure).toContain('timeout');
});

test('a write is never sent again automatically', async () => {
  server.outage = { from: 0, fault: 'error-before' };
  const { client, records } = open();
  const write = client.write('DELETE', '/repos/acme/archive/git/refs/tags/x');
  await expect(write).rejects.toMatchObject({ code: 'server_error', status: 502 });
  expect(records).toHaveLength(1);
});

test('the scopes of a classic token are known after a reply; other tokens have none', async () => {
  const classic = open().client;
  expect(classic.scopes).toBeUndefined();
  await classic.find(releases, anything);
  expect(classic.scopes).toEqual(['repo']);
  server.tokens.set(repositoryToken, { push: true });
  const fine = open().client;
  await fine.find(releases, anything);
  expect(fine.scopes).toBeUndefined();
});

test('after an interrupt nothing is sent', async () => {
  const reason = new Error('enough');
  const { client, records } = open({ signal: AbortSignal.abort(reason) });
  await expect(client.find(releases, anything)).rejects.toBe(reason);
  expect(records).toEqual([]);
});

test('a list is read page by page', async () => {
  server.maxPerPage = 2;
  const { client, records } = open();
  const listed = await client.list('/repos/acme/archive/releases', z.array(anything));
  expect(listed.map(({ id }) => id)).toEqual([11, 10, 9]);
  expect(records.map(({ path }) => path.replace('/api/v3', ''))).toEqual([
    '/repos/acme/archive/releases?per_page=100',
    '/repos/acme/archive/releases?per_page=100&page=2',
  ]);
});

test('a reply that is not JSON is told with its status, and is not asked for again', async () => {
  server.outage = { from: 0, fault: { status: 200, text: '<html>' } };
  const { client, records } = open();
  const read = client.find(releases, anything);
  await expect(read).rejects.toMatchObject({ code: 'unexpected_answer', status: 200 });
  await expect(read).rejects.toThrow('the whole body is of another form; check --api-url');
  expect(records).toHaveLength(1);
});
