import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { ApiClient, type ApiClientOptions } from '../../../lib/releases/api-client.ts';
import type { CallRecord } from '../../../lib/releases/recorded-fetch.ts';
import { RegistryServer, repositoryToken } from '../../helpers/registry-server.ts';
import { fakeTiming, yieldAtOnce } from '../../helpers/retirement-world.ts';

let server: RegistryServer;
beforeAll(async () => {
  yieldAtOnce();
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

test('a write is never sent again by itself', async () => {
  server.outage = { from: 0, fault: 'error-before' };
  const { client, records } = open();
  const write = client.write('DELETE', '/repos/{owner}/{repo}/git/refs/tags/x', { owner: 'acme', repo: 'archive' });
  await expect(write).rejects.toMatchObject({ code: 'server_error', status: 502 });
  expect(records).toHaveLength(1);
});

test('two writes of one token are a second apart, as the platform asks', async () => {
  const { client, slept } = open();
  const write = (name: string) =>
    client.write('PATCH', '/repos/acme/archive/releases/{release_id}', { release_id: 10, name });
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
