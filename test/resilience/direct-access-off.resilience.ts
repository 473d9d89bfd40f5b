import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runSmoke } from '../../lib/ops/smoke/program.ts';
import { copyWithSettings } from '../helpers/assembly-with-settings.ts';
import { makeTerminal } from '../helpers/ops-world.ts';
import { expectProblem, rawRequest } from '../helpers/raw-http.ts';
import { basic, Service } from '../helpers/service.ts';

let folder: string;
let service: Service;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-direct-off-'));
  await copyWithSettings(folder, { directAccess: 'off', adminPage: false });
  service = await Service.start({ assemblyDir: folder });
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('the engine starts without the direct API and says so in its connection file', async () => {
  const { connection, connectionPath } = service.engine;
  const written = JSON.parse(await readFile(connectionPath, 'utf8'));
  expect([connection.dataOutUrl, connection.outputs.DataOutUrl]).toEqual([undefined, undefined]);
  expect(written).not.toHaveProperty('dataOutUrl');
  expect(written.outputs).not.toHaveProperty('DataOutUrl');
  expect(() => service.engine.functions.definition('direct-file')).toThrow('there is no function direct-file');
});

test('a new database has no role of the direct API', async () => {
  expect(await service.sql("select count(*) from pg_authid where rolname = 'data_out_reader'")).toEqual([['0']]);
});

test('without the setting there is no page of administrators, and exports are shown as ever', async () => {
  const { connection } = service.engine;
  const headers = { Authorization: basic(connection.admin) };
  const get = (path: string) => rawRequest(connection.proxyUrl, path, { headers });
  expectProblem(await get('admin'), 404, 'not_found');
  expect((await get('export/fega')).status).toBe(200);
});

test('the smoke test believes what is deployed, and not the settings', { timeout: 120_000 }, async () => {
  const { terminal, said } = makeTerminal({ now: () => new Date() });
  const argv = ['--json', '--connection', service.engine.connectionPath];
  // The deployment writes receipts.
  const expected = { archiveKind: 'fega', deliveryReceipt: false, adminPage: false, needsPassword: true };
  const exitCode = await runSmoke(argv, terminal, { local: expected, deployed: expected });
  expect(exitCode, said.stdout).toBe(0);
  const lines = said.stdout.trim().split('\n');
  const results = new Map(lines.map((line) => JSON.parse(line)).map((result) => [result.id, result]));
  for (const id of ['visa', 'receipt', 'delivery GET /stream/{file}', 'unknown-routes']) {
    expect([id, results.get(id)?.result]).toEqual([id, 'passed']);
  }
  for (const id of ['direct', 'direct GET /files/{fileId}']) {
    expect(results.get(id)).toMatchObject({ result: 'skipped', found: 'the deployment has no direct API' });
  }
});
