import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copyWithSettings } from '../helpers/assembly-with-settings.ts';
import { type RawRequest, rawRequest } from '../helpers/raw-http.ts';
import { Service } from '../helpers/service.ts';
import { account } from '../helpers/settings.ts';

/** The APIs behind host names of the operator's own, as API Gateway tells them to the functions. */
const certificateArn = `arn:aws:acm:eu-north-1:${account}:certificate/c`;
const hosts = { delivery: 'data.example.org', direct: 'direct.example.org' };

let folder: string;
let service: Service;
let fileId: string;
let visa: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-domains-'));
  const domain = (name: string) => ({ name, certificateArn });
  const domains = { proxy: domain(hosts.delivery), dataOut: domain(hosts.direct) };
  // Also with keys for the logs: an operator who has them starts the engine from the same template.
  await copyWithSettings(folder, { adminPage: true, domains, logKeys: 'customer' });
  service = await Service.start({ assemblyDir: folder });
  ({ fileId } = await service.archive('EGAD1', 'a.vcf', 1000));
  await service.setDataset('EGAD1', 'released');
  visa = await service.visa();
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A request to the root of a host, which leads to this machine. */
function ask(api: keyof typeof hosts, path: string, { headers = {}, ...init }: RawRequest = {}) {
  const url = new URL(api === 'delivery' ? service.connection.proxyUrl : service.connection.dataOutUrl);
  return rawRequest(url.origin, path, { ...init, headers: { Host: hosts[api], ...headers } });
}
const bearer = () => ({ Authorization: `Bearer ${visa}` });

test('the tools still find the APIs on this machine', async () => {
  expect(new URL(service.connection.proxyUrl).hostname).toBe('127.0.0.1');
  expect((await service.get('files?inbox=false', visa)).status).toBe(200);
  expect((await service.direct('metadata/datasets', visa)).text).toContain('EGAD1');
});

test.each(['delivery', 'direct'] as const)('the document of the %s API names the host as the server', async (api) => {
  const { status, text } = await ask(api, 'openapi.json');
  expect(status).toBe(200);
  expect(JSON.parse(text).servers).toEqual([expect.objectContaining({ url: `https://${hosts[api]}` })]);
});

test('list and stream work at the root, and a path with the stage is another one', async () => {
  const headers = service.researcher(visa);
  expect((await ask('delivery', 'files?inbox=false', { headers })).status).toBe(200);
  expect((await ask('delivery', 'v1/files?inbox=false', { headers })).status).toBe(404);
  expect((await ask('delivery', 'stream/none.c4gh', { headers })).status).toBe(404);
});

describe('a DRS object', () => {
  test('is found where a hostname-based URI leads (GA4GH DRS 1.5.0)', async () => {
    const path = `ga4gh/drs/v1/objects/${fileId}`;
    const object = JSON.parse((await ask('direct', path, { headers: bearer() })).text);
    expect(object).toMatchObject({ id: fileId, self_uri: `drs://${hosts.direct}/${fileId}` });
    const [, host, id] = /^drs:\/\/([^/]+)\/(.+)$/.exec(object.self_uri) ?? [];
    expect(`https://${host}/ga4gh/drs/v1/objects/${id}`).toBe(`https://${hosts.direct}/${path}`);
  });

  test('is served at an address of the host', async () => {
    const path = `ga4gh/drs/v1/objects/${fileId}/access/plaintext`;
    const { url } = JSON.parse((await ask('direct', path, { headers: bearer() })).text);
    expect(url).toBe(`https://${hosts.direct}/files/${fileId}/a.vcf`);
    const { status, bytes } = await ask('direct', new URL(url).pathname.slice(1), { headers: bearer() });
    expect([status, bytes.length]).toEqual([200, 1000]);
  });
});
