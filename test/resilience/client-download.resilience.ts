import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connect } from '../../lib/client/api/connection.ts';
import { DeliveryApi } from '../../lib/client/api/delivery-api.ts';
import { type DownloadFilesOptions, downloadFiles } from '../../lib/client/api/download/download-files.ts';
import { Claims } from '../../lib/client/api/receipts/claims.ts';
import { Transport } from '../../lib/client/api/transport.ts';
import { isReceiptName } from '../../lib/contract/delivery.ts';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { all } from '../helpers/download-world.ts';
import { FaultProxy } from '../helpers/fault-proxy.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { deliveredFile, receiptOf } from '../helpers/receipts.ts';
import { receive } from '../helpers/receive.ts';
import { Service } from '../helpers/service.ts';

const mebibyte = 1024 * 1024;
const largeSize = 34 * mebibyte;
const datasetId = 'EGAD00000000001';
const sources = [
  { path: 'empty.txt', size: 0 },
  { path: 'run 1/größe.vcf', size: 70_000 },
  { path: 'large.bam', size: largeSize },
];
const reader = generateKeyPair();

let service: Service;
let faults: FaultProxy;
let folder: string;
let visa = '';
const transport = new Transport({ userAgent: 'test', stallMs: 2_000 });

beforeAll(async () => {
  service = await Service.shared();
  faults = await FaultProxy.start(`${service.connection.proxyUrl}/`);
  for (const { path, size } of sources) await service.archive(datasetId, path, size);
  await service.setDataset(datasetId, 'released');
  visa = await service.visa({ datasetId });
  await service.settled(await service.exported({ id: datasetId, visa, publicKey: reader.publicKey }), sources.length);
});
beforeEach(async () => {
  faults.reset();
  folder = await mkdtemp(join(tmpdir(), 'data-out-client-'));
  return () => rm(folder, { recursive: true });
});
afterAll(async () => {
  await transport.close();
  await faults?.stop();
  await service?.stop();
});

const connection = () =>
  connect({
    proxyUrl: faults.url,
    visa: async () => visa,
    basic: async () => service.connection.archiveUser,
    transport,
  });

/** The listing without delivery receipts. */
const containers = async () =>
  (await all(new DeliveryApi(connection()).list())).filter(({ name }) => !isReceiptName(name));

async function download(options: Partial<DownloadFilesOptions> = {}) {
  const proxy = new DeliveryApi(connection());
  const files = await containers();
  return await downloadFiles({ proxy, files, folder, parallel: 3, force: false, ...options });
}

async function sha256(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
}
const expected = () => Promise.all(sources.map((source) => sha256(bytesOf(source)))).then((sums) => sums.sort());

const plaintextSumOf = async (name: string) =>
  (await receive(once(await readFile(join(folder, name))), reader.privateKey)).plaintextSha256;

async function* once(bytes: Uint8Array) {
  yield bytes;
}

describe('the outbox of the whole service', () => {
  test('is downloaded whole', async () => {
    expect((await download()).error).toBeUndefined();
    const sums = [];
    for (const name of await readdir(folder)) sums.push(await plaintextSumOf(name));
    expect(sums.sort()).toEqual(await expected());
  });

  test('is downloaded whole through cuts and expiry on the way', async () => {
    let progress = 0;
    faults.break({ on: 'storage', path: /large/, fault: { kind: 'cut', bytes: 3_000_000 }, skip: 1, times: 2 });
    const report = await download({
      onEvent: ({ type }) => {
        if (type === 'progress' && ++progress === 5) faults.break({ on: 'storage', fault: { kind: 'expire' } });
      },
    });
    expect(report.error).toBeUndefined();
    expect((await Promise.all((await readdir(folder)).map(plaintextSumOf))).sort()).toEqual(await expected());
  });

  test('is kept as it is when the same export was repeated', async () => {
    const times = async () => (await containers()).map(({ modified }) => modified?.getTime());
    expect((await download()).error).toBeUndefined();
    const before = await times();
    // Times of objects are whole seconds.
    await setTimeout(1_100);
    const again = await service.exported({ id: datasetId, visa, publicKey: reader.publicKey });
    await service.settled(again, sources.length);
    for (const [index, time] of (await times()).entries()) expect(time).toBeGreaterThan(before[index] ?? Number.NaN);
    // As the receipt of either export says.
    const listed = (await containers()).map(async ({ name }) => {
      return await deliveredFile(name, await readFile(join(folder, name)));
    });
    const claims = new Claims([receiptOf(await Promise.all(listed))]);
    const report = await download({ expected: ({ name }) => claims.of(name) });
    expect(report.error).toBeUndefined();
    expect(report.files.map(({ outcome }) => outcome)).toEqual(sources.map(() => 'skipped'));
  });

  test('resumes after a stop, and fetches nothing again that existed', async () => {
    const stop = new AbortController();
    let kept = 0;
    const onEvent: DownloadFilesOptions['onEvent'] = (event) => {
      kept += event.type === 'progress' ? event.bytes : 0;
      if (kept > 26 * mebibyte) stop.abort();
    };
    expect((await download({ onEvent, signal: stop.signal })).error).toMatchObject({ code: 'interrupted' });
    const [journal = ''] = (await readdir(folder)).filter((name) => name.endsWith('.json'));
    expect(await readFile(join(folder, journal), 'utf8')).not.toMatch(/X-Amz|http|eyJ/);
    faults.reset();
    expect((await download()).error).toBeUndefined();
    const bytes = faults.requests.filter(({ on }) => on === 'storage').reduce((sum, request) => sum + request.bytes, 0);
    expect(bytes).toBeLessThan(largeSize - 7 * mebibyte);
    expect(await readdir(folder)).toHaveLength(sources.length);
  });

  test('says in the words of the service why it gives nothing', async () => {
    const good = visa;
    try {
      visa = 'no visa';
      await expect(download()).rejects.toMatchObject({ code: 'unauthenticated', status: 401 });
    } finally {
      visa = good;
    }
    await expect(new DeliveryApi(connection()).location('EGAF404-a.c4gh')).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(/ \(request \S+\)$/),
    });
  });
});
