import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { copyWithSettings } from '../helpers/assembly-with-settings.ts';
import { expectProblem, rawRequest } from '../helpers/raw-http.ts';
import { basic, Service } from '../helpers/service.ts';

/** The settings of the repository, as they are deployed: without the page, which the engine asks for automatically. */
let folder: string;
let service: Service;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-no-page-'));
  await copyWithSettings(folder, { adminPage: false });
  service = await Service.start({ assemblyDir: folder });
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('without the setting there is no page, and exports are shown as ever', async () => {
  const headers = { Authorization: basic(service.connection.admin) };
  const get = (path: string) => rawRequest(service.connection.proxyUrl, path, { headers });
  expectProblem(await get('admin'), 404, 'not_found');
  expect((await get('export/fega')).status).toBe(200);
});
