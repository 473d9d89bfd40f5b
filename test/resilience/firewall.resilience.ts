import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { copyWithSettings } from '../helpers/assembly-with-settings.ts';
import { runCli } from '../helpers/cli-run.ts';
import { notVerified } from '../helpers/client-process.ts';
import { ClientWorld, namesIn } from '../helpers/client-world.ts';
import { type RawReply, rawRequest } from '../helpers/raw-http.ts';
import { Service } from '../helpers/service.ts';

/** The limits that docs/operations.md recommends. */
const firewall = { requestsPerFiveMinutes: 20_000, exportRequestsPerFiveMinutes: 600 };
const downloads = 1000;

let folder: string;
let world: ClientWorld;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-firewall-'));
  await copyWithSettings(folder, { firewall });
  world = await ClientWorld.of(await Service.start({ assemblyDir: folder }));
});
afterAll(async () => {
  await world?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Lines of the proxy's access log. */
const accessLog = () =>
  world.service.logs
    .filter(({ functionName }) => functionName === 'proxy-access')
    .map(({ line }) => JSON.parse(line) as { status: string; gatewayResponse: string });

test('a thousand downloads at once from one address pass, with the throttling of the template', async () => {
  await world.stageContainer('one.c4gh', 1000);
  const target = await world.folder();
  world.service.engine.gateway.throttles = true;
  const env = world.env();
  const runs = await Promise.all(
    Array.from({ length: downloads }, (_, at) =>
      runCli(['download', 'one.c4gh', '-o', join(target, `${at}.c4gh`)], { env }),
    ),
  );
  expect(runs.filter(({ exitCode }) => exitCode !== notVerified).map(({ stderr }) => stderr)).toEqual([]);
  expect(await namesIn(target)).toHaveLength(downloads);
  const requests = accessLog();
  // Each asks where its file is, and fetches it. On a slow machine some ask twice.
  expect(requests.filter(({ status }) => Number(status) < 400).length).toBeGreaterThanOrEqual(2 * downloads);
  expect(requests.filter(({ gatewayResponse }) => gatewayResponse === 'WAF_FILTERED')).toEqual([]);
  // The worst that docs/operations.md expects: all come back together, and each time a hundred are let through.
  expect(requests.length).toBeLessThanOrEqual(11_000);
}, 600_000);

test('a flood of exports is refused for a minute, and does not close the outbox to others', async () => {
  const { engine, connection } = world.service;
  engine.gateway.throttles = true;
  const order = () => rawRequest(connection.proxyUrl, 'export/fega', { method: 'POST', body: '{}' });
  const replies: RawReply[] = [];
  for (let at = 0; at < firewall.exportRequestsPerFiveMinutes + 50; at++) replies.push(await order());
  const refused = replies.filter(({ headers }) => headers['x-amzn-errortype'] === 'WAF_FILTERED');
  expect(replies.indexOf(refused[0]!)).toBe(firewall.exportRequestsPerFiveMinutes);
  expect(refused).toHaveLength(50);
  for (const { status, headers } of refused) {
    expect([status, headers['retry-after'], headers['content-type']]).toEqual([429, '60', 'application/problem+json']);
  }
  expect(JSON.parse(refused[0]!.text)).toMatchObject({
    status: 429,
    code: 'throttled',
    detail: expect.stringMatching(/^Too many requests came from your network address within five minutes; /),
  });
  expect((await world.service.get('files?inbox=false', world.visa)).status).toBe(200);
}, 120_000);
