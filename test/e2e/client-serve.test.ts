import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bytesOf } from '../helpers/made-files.ts';
import { type RunningServe, startServe } from '../helpers/running-serve.ts';
import { Service } from '../helpers/service.ts';

/** `data-out serve` on the datasets of a service, as tools on the same machine read them. */

let service: Service;
let folder: string;
let served: RunningServe;
let plaintext: Buffer;
const size = 9_000_000;
const path = 'run 1/sample.bam';

beforeAll(async () => {
  service = await Service.shared();
  folder = await mkdtemp(join(tmpdir(), 'data-out-serve-'));
  await service.archive('EGAD1', `${path}.c4gh`, size);
  await service.archive('EGAD1', 'other.txt.c4gh', 100);
  await service.archive('EGAD2', 'foreign.bam.c4gh', 100);
  for (const datasetId of ['EGAD1', 'EGAD2']) await service.setDataset(datasetId, 'released');
  const pieces: Uint8Array[] = [];
  for await (const piece of bytesOf({ path: `${path}.c4gh`, size })) pieces.push(piece);
  plaintext = Buffer.concat(pieces);
  await writeFile(join(folder, 'visa.jwt'), await service.visa({ datasetId: 'EGAD1' }));
  const env = { DATA_OUT_DIRECT_URL: service.connection.dataOutUrl, DATA_OUT_VISA_FILE: 'visa.jwt' };
  served = await startServe([], { folder, env });
});
afterAll(async () => {
  await served?.end();
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const get = (name: string, init: RequestInit = {}) => fetch(`${served.url}datasets/${name}`, init);

test('shows granted datasets, with folders and names as submitted', async () => {
  expect(await (await get('?format=json')).json()).toEqual({ path: '/datasets', folders: ['EGAD1'], files: [] });
  const dataset = await (await get('EGAD1/?format=json')).json();
  expect(dataset).toEqual({
    path: '/datasets/EGAD1',
    folders: ['run 1'],
    files: [expect.objectContaining({ name: 'other.txt', size: 100 })],
  });
  expect(await (await get('EGAD1/')).text()).toContain('<a href="./run%201/">run 1/</a>');
});

test('gives the plaintext, whole and by ranges, by presigned ranges of the archived body', async () => {
  const head = await get(`EGAD1/${path}`, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(size)]);
  const whole = Buffer.from(await (await get(`EGAD1/${path}`)).arrayBuffer());
  expect(whole.equals(plaintext)).toBe(true);
  const part = await get(`EGAD1/${path}`, {
    headers: { range: 'bytes=4000000-4200000', 'if-range': head.headers.get('etag') ?? '' },
  });
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 4000000-4200000/${size}`]);
  expect(Buffer.from(await part.arrayBuffer()).equals(plaintext.subarray(4_000_000, 4_200_001))).toBe(true);
  // Nothing was assembled at the service, and nothing was written here.
  expect((await service.outboxKeys()).filter((name) => name.startsWith('direct/'))).toEqual([]);
  expect(await readdir(folder)).toEqual(['visa.jwt']);
});

test('has no dataset that is not granted, and sends no name to the service that it has not listed', async () => {
  for (const name of ['EGAD2/', 'EGAD2/foreign.bam', 'EGAD1/..%2F..%2Fdatasets', 'EGAD1%2F..']) {
    expect([name, (await get(name)).status]).toEqual([name, 404]);
  }
});

test('tells of a refused visa in a problem and in one line, and goes on with a new one', async () => {
  const good = await service.visa({ datasetId: 'EGAD1' });
  await writeFile(join(folder, 'visa.jwt'), await service.visa({ datasetId: 'EGAD1', claims: { exp: 1_700_000_000 } }));
  for (const _ of [1, 2]) {
    const reply = await get('EGAD1/other.txt');
    expect([reply.status, reply.headers.get('content-type')]).toEqual([403, 'application/problem+json']);
    expect(await reply.json()).toMatchObject({
      status: 403,
      code: 'unauthenticated',
      detail: expect.stringContaining('expired'),
    });
  }
  expect(served.said().match(/\/datasets\/EGAD1\/other\.txt: /g)).toHaveLength(1);
  await writeFile(join(folder, 'visa.jwt'), good);
  expect((await get('EGAD1/other.txt')).status).toBe(200);
});

test('ends cleanly by Ctrl-C', async () => {
  expect((await served.end()).exitCode).toBe(0);
  await expect(get('')).rejects.toThrow();
});
