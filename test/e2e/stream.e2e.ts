import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RawReply, rawRequest } from '../helpers/raw-http.ts';
import { basic, Service } from '../helpers/service.ts';

let service: Service;
let visa: string;
const name = 'EGAF00000000001-sample.bam.c4gh';
const content = 'crypt4gh: header and body';

beforeAll(async () => {
  service = await Service.shared();
  await service.putStaged('researcher', name, content);
  visa = await service.visa();
});
afterAll(() => service?.stop());

/** As the researcher. */
function get(path: string): Promise<RawReply> {
  const headers = { Authorization: basic(service.connection.archiveUser), 'X-GA4GH-Visa': visa };
  return rawRequest(service.connection.proxyUrl, path, { headers });
}

test('a path cannot put fields into the access log', async () => {
  for (const quote of ['"', '%22', '%5c%22']) await get(`stream/x${quote},${quote}user${quote}:${quote}forged`);
  const lines = service.logs.filter(({ functionName }) => functionName === 'proxy-access');
  expect(lines.length).toBeGreaterThanOrEqual(3);
  for (const { line } of lines) {
    expect(JSON.parse(line).user).toMatch(/^[0-9a-f]{64}$/);
    expect(line).not.toContain('forged');
  }
});

describe('a presigned URL', () => {
  let url: URL;
  beforeAll(async () => {
    url = new URL((await get(`stream/${name}`)).headers.location ?? '');
  });

  test('ignores the visa, which clients send on to the redirection’s target', async () => {
    const headers = { 'X-GA4GH-Visa': visa, 'Proxy-Authorization': `Bearer ${visa}` };
    expect((await rawRequest(url.origin, `${url.pathname.slice(1)}${url.search}`, { headers })).text).toBe(content);
  });
});
