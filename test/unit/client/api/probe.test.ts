import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { probe } from '../../../../lib/client/api/probe.ts';
import { Transport } from '../../../../lib/client/api/transport.ts';
import { testCertificate } from '../../../helpers/test-certificate.ts';

const server = createServer({ ...testCertificate }, (_request, response) => {
  response.setHeader('Date', 'Sat, 21 Nov 2026 10:00:00 GMT');
  response.end('{"openapi":"3.1.0"}');
});
let url: URL;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, resolve));
  url = new URL(`https://localhost:${(server.address() as AddressInfo).port}/v1/openapi.json`);
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

test('a look at a server shows its certificate, its clock and its answer', async () => {
  await using transport = new Transport({ userAgent: 'test', extraAuthorities: testCertificate.cert });
  const seen = await probe(transport, url, undefined);
  expect(seen).toMatchObject({
    status: 200,
    date: new Date('2026-11-21T10:00:00Z'),
    json: { openapi: '3.1.0' },
    certificate: { subject: 'service.test, localhost, 127.0.0.1', issuer: 'service.test' },
  });
  expect(seen.certificate?.validUntil.getUTCFullYear()).toBe(2126);
});

test('a certificate that is not trusted is named as the reason', async () => {
  await using transport = new Transport({ userAgent: 'test' });
  await expect(probe(transport, url, undefined)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('is not trusted'),
    remedy: expect.stringContaining('--ca'),
  });
});
