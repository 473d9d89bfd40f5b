import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runClient } from '../../../helpers/client-process.ts';
import { testCertificate } from '../../../helpers/test-certificate.ts';

const server = createServer({ ...testCertificate }, (_request, response) => {
  const about = { name: 'data-out', organization: 'Example Archive', basicRequired: false, issuers: [] };
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ ...about, files: [] }));
});
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-store-'));
  await writeFile(join(folder, 'store.pem'), testCertificate.cert);
  await writeFile(join(folder, 'empty.pem'), '');
  await mkdir(join(folder, 'none'));
  await new Promise<void>((resolve) => server.listen(0, resolve));
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

/** @param store the system's, in which OpenSSL looks */
const run = (command: string, store: string) =>
  runClient([command], {
    folder,
    env: {
      HOME: folder,
      DATA_OUT_URL: `https://localhost:${(server.address() as AddressInfo).port}/v1/`,
      DATA_OUT_VISA: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl',
      SSL_CERT_FILE: join(folder, store),
      SSL_CERT_DIR: join(folder, 'none'),
    },
  });

test('an authority in the store of the system alone is trusted', async () => {
  expect(await run('list', 'store.pem')).toMatchObject({ exitCode: 0, stderr: 'no files are staged\n' });
  expect((await run('doctor', 'store.pem')).stdout).toContain('ok       address');
});

test('an authority that is nowhere is not', async () => {
  const { exitCode, stderr } = await run('list', 'empty.pem');
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 7, stderr: expect.stringContaining('is not trusted') });
});
