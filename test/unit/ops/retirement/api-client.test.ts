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

function open(choices: Partial<ApiClientOptions> = {}) {
  const timing = fakeTiming();
  const records: CallRecord[] = [];
  const client = new ApiClient({
    baseUrl: server.url,
    token: repositoryToken,
    tokenName: 'REGISTRY_REPO_TOKEN',
    scope: 'repo',
    userAgent: 'test',
    timing,
    signal: new AbortController().signal,
    maxWaitSeconds: 60,
    timeoutMs: 5000,
    record: (call) => void records.push(call),
    note: () => {},
    ...choices,
  });
  return { client, records, slept: timing.slept };
}

test('a call without an answer is given up, and sent again', async () => {
  server.faults.set(1, 'hang');
  // The first call takes longer: it reads the schemas.
  await open().client.get('/orgs/{org}', { org: 'acme' }, anything);
  const { client, records, slept } = open({ timeoutMs: 400 });
  await client.get('/orgs/{org}', { org: 'acme' }, anything);
  expect(slept).toEqual([1000]);
  expect(records.map(({ status }) => status)).toEqual([null, 200]);
  expect(records[0]!.failure).toContain('timeout');
});

test('a write is never sent again automatically', async () => {
  server.outage = { from: 0, fault: 'error-before' };
  const { client, records } = open();
  const write = client.write('DELETE', '/repos/{owner}/{repo}/git/refs/tags/x', { owner: 'acme', repo: 'archive' });
  await expect(write).rejects.toMatchObject({ code: 'server_error', status: 502 });
  expect(records).toHaveLength(1);
});

test('two writes of one token are a second apart, as the platform asks', async () => {
  const { client, slept } = open();
  const write = (name: string) =>
    client.write('PATCH', '/repos/acme/archive/releases/{release_id}', { release_id: 10 }, { name });
  await write('one');
  await write('two');
  expect(slept).toEqual([1000]);
});

test('the scopes of a classic token are known after a reply; other tokens have none', async () => {
  const classic = open().client;
  expect(classic.scopes).toBeUndefined();
  await classic.get('/orgs/{org}', { org: 'acme' }, anything);
  expect(classic.scopes).toEqual(['repo']);
  server.tokens.set(repositoryToken, { push: true });
  const fine = open().client;
  await fine.get('/orgs/{org}', { org: 'acme' }, anything);
  expect(fine.scopes).toBeUndefined();
});

test('after an interrupt nothing is sent', async () => {
  const reason = new Error('enough');
  const { client, records } = open({ signal: AbortSignal.abort(reason) });
  await expect(client.get('/orgs/{org}', { org: 'acme' }, anything)).rejects.toBe(reason);
  expect(records).toEqual([]);
});

test('a read waits for a rate limit five times, and then stops', async () => {
  const headers = { 'retry-after': '7' };
  server.outage = { from: 0, fault: { status: 403, message: 'You have exceeded a secondary rate limit.', headers } };
  const { client, records, slept } = open();
  const read = client.get('/orgs/{org}', { org: 'acme' }, anything);
  await expect(read).rejects.toMatchObject({ code: 'rate_limited', status: 403, retryAfterSeconds: 7 });
  expect(slept).toEqual([7000, 7000, 7000, 7000, 7000]);
  expect(records).toHaveLength(6);
});

test('a list is read page by page, and a slash in a parameter separates nothing', async () => {
  server.maxPerPage = 2;
  const { client, records } = open();
  const listed = await client.list(
    '/repos/{owner}/{repo}/releases',
    { owner: 'acme', repo: 'archive' },
    z.array(anything),
  );
  expect(listed.map(({ id }) => id)).toEqual([11, 10, 9]);
  expect(records.map(({ path }) => path.replace('/api/v3', ''))).toEqual([
    '/repos/acme/archive/releases?per_page=100',
    '/repos/acme/archive/releases?per_page=100&page=2',
  ]);
  await expect(client.get('/orgs/{org}', { org: '../repos' }, anything)).rejects.toMatchObject({ status: 404 });
  expect(records.at(-1)!.path.replace('/api/v3', '')).toBe('/orgs/..%2Frepos');
});

test('a reply that is not JSON is asked for again, and then told with its status', async () => {
  server.outage = { from: 0, fault: { status: 200, text: '<html>' } };
  const { client, slept } = open();
  const read = client.get('/orgs/{org}', { org: 'acme' }, anything);
  await expect(read).rejects.toMatchObject({ code: 'server_error', status: 200 });
  expect(slept).toEqual([1000, 4000, 9000]);
});
