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
