import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AwsCall, Fault } from '../../../lib/local/endpoint/traffic.ts';
import type { AddedFile } from '../../../lib/ops/archive/add-file.ts';
import { collect } from '../../helpers/crypt4gh-vectors.ts';
import { invokeAlone } from '../../helpers/function-process.ts';
import { gatewayEvent } from '../../helpers/gateway-event.ts';
import { bytesOf } from '../../helpers/made-files.ts';
import { expectProblem, type RawRequest } from '../../helpers/raw-http.ts';
import { Service, until } from '../../helpers/service.ts';
import { watchMark, writeWatch } from '../../helpers/write-watch.ts';

/** `GET|HEAD /files/{fileId}`: the plaintext of a file, on the whole service. */

const mebibyte = 1 << 20;
const segment = 65_564;
/** Where the reads of the archive begin: one segment, then 20 at a time. */
const readStarts = [0, 1, 21, 41].map((index) => index * segment) as [number, number, number, number];
const path = 'study/räw data.bam';
const size = 3 * mebibyte + 1000;
const large = { path: 'large.bin', size: 201_000_000 };

let service: Service;
let visa: string;
let file: AddedFile;
let largeFile: AddedFile;
let plaintext: Buffer;

beforeAll(async () => {
  // Every function of this file runs without the right to write files, and says so where it tries.
  service = await Service.start({ environment: { ...writeWatch } });
  file = await service.archive('EGAD1', path, size);
  largeFile = await service.archive('EGAD1', large.path, large.size);
  plaintext = await collect(bytesOf({ path, size }));
  await service.setDataset('EGAD1', 'released');
  visa = await service.visa();
});
afterAll(() => service?.stop());

const get = (init: RawRequest = {}, fileId = file.fileId, query = '') =>
  service.direct(`files/${fileId}${query}`, visa, init);

/** The body of an archived file: where it lies, and what it is. */
async function archived(fileId: string) {
  const [[key, header] = []] = await service.sql(
    `select archive_file_path, header from sda.files where stable_id = '${fileId}'`,
  );
  if (!key || !header) throw new Error(`no file ${fileId}`);
  const body = () => service.object('ArchiveBucketName', key);
  const put = (Body: Uint8Array) =>
    service.s3.send(new PutObjectCommand({ Bucket: service.connection.outputs.ArchiveBucketName, Key: key, Body }));
  return { key, header, body, put };
}

/** Ranges that the function asks S3 for while `task` runs. */
async function readsOf<T>(
  task: () => Promise<T>,
): Promise<{ readonly result: T; readonly ranges: readonly unknown[] }> {
  const ranges: unknown[] = [];
  // As it begins: that it is over may be noticed after the reply.
  const stop = service.engine.traffic.addFault((call) => {
    if (isRead(call)) ranges.push(call.headers.range);
    return undefined;
  });
  const result = await task().finally(stop);
  return { result, ranges };
}

function isRead({ caller, service: name, action }: AwsCall): boolean {
  return caller === 'direct-file' && name === 's3' && action === 'GetObject';
}

/** Break the read that begins at this byte of the body, and no other. */
function whenReading(start: number, fault: Fault): () => void {
  return service.engine.traffic.addFault((call) =>
    isRead(call) && String(call.headers.range).startsWith(`bytes=${start}-`) ? fault : undefined,
  );
}

test('no line of the access log has the name behind an id', async () => {
  const named = (name: string) => service.direct(`files/${file.fileId}/${name}`, visa);
  expect((await named('r%C3%A4w%20data.bam')).bytes.equals(plaintext)).toBe(true);
  expectProblem(await named('wrong.bam'), 404, 'not_found');
  const lines = () => service.logs.filter(({ functionName }) => functionName === 'data-out-access');
  const ofRoute = () => lines().filter(({ line }) => JSON.parse(line).route === '/files/{fileId}/{name}');
  await until(() => (ofRoute().length >= 2 ? true : undefined), 'the access log');
  expect(lines().filter(({ line }) => /wrong|data\.bam/.test(line))).toEqual([]);
});

test('the whole comes with its length, its name and a tag; only its segments are read, in a few reads', async () => {
  const { result: reply, ranges } = await readsOf(() => get());
  expect([reply.status, reply.complete]).toEqual([200, true]);
  expect(reply.bytes.equals(plaintext)).toBe(true);
  expect(reply.headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-length': String(size),
    'content-disposition': `attachment; filename="r_w data.bam"; filename*=UTF-8''r%C3%A4w%20data.bam`,
    'accept-ranges': 'bytes',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
    'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  const ends = [...readStarts.slice(1), 48 * segment + 1028];
  const expected = readStarts.map((start, index) => `bytes=${start}-${(ends[index] ?? 0) - 1}`);
  // They may end in any order.
  expect(ranges.toSorted()).toEqual(expected.toSorted());
});

describe('a failure in mid-reply breaks the connection', () => {
  /** The reply began with success and ended in the middle: authentic bytes, then nothing. */
  async function expectBroken(fileId: string, bytes: Buffer, most: number) {
    const { status, complete, headers, bytes: body } = await get({}, fileId);
    expect([status, complete]).toEqual([200, false]);
    expect(headers['content-length']).toBe(String(bytes.length));
    expect(headers).not.toHaveProperty('transfer-encoding');
    expect(body.length).toBeLessThanOrEqual(most);
    expect(body.equals(bytes.subarray(0, body.length))).toBe(true);
    return body.length;
  }

  test('a segment that fails its MAC: not a byte of it goes out', async () => {
    const damaged = await service.archive('EGAD1', 'damaged.bin', size);
    const { body, put } = await archived(damaged.fileId);
    const bytes = await body();
    bytes[20 * segment + 1000]! ^= 1;
    await put(bytes);
    const sent = await collect(bytesOf({ path: 'damaged.bin', size }));
    expect(await expectBroken(damaged.fileId, sent, 20 * 65_536)).toBeGreaterThan(0);
    const metric = await until(
      () => service.logs.find(({ line }) => line.includes('ArchiveDamaged') && line.includes('_aws'))?.line,
      'the metric of the damage',
    );
    expect(JSON.parse(metric)).toMatchObject({ ArchiveDamaged: 1 });
    // Ranges beside it are whole.
    const beside = await get({ headers: { Range: `bytes=0-${20 * 65_536 - 1}` } }, damaged.fileId);
    expect([beside.status, beside.complete]).toEqual([206, true]);
  });
});

describe('the stream', () => {
  test('its first bytes arrive before the second read of S3 has ended, while others are under way', async () => {
    const held = Promise.withResolvers<void>();
    const stops = readStarts.slice(1).map((start) => whenReading(start, { action: () => held.promise }));
    const url = `${service.connection.dataOutUrl.replace(/\/$/, '')}/files/${file.fileId}`;
    const response = await fetch(url, { headers: { Authorization: `Bearer ${visa}` } });
    const received: Uint8Array[] = [];
    for await (const chunk of response.body ?? []) {
      received.push(chunk);
      // Everything of the first read, while no other has ended.
      if (received.reduce((sum, { length }) => sum + length, 0) >= 65_536) held.resolve();
    }
    for (const stop of stops) stop();
    expect(Buffer.concat(received).equals(plaintext)).toBe(true);
  });

  test('its memory stays small, however large the file', async () => {
    const { environment } = service.engine.functions.definition('direct-file');
    const event = gatewayEvent({
      path: `/files/${largeFile.fileId}`,
      pathParameters: { fileId: largeFile.fileId },
      headers: { Authorization: `Bearer ${visa}`, Range: 'bytes=1000000-' },
    });
    const resource = '/files/{fileId}';
    const outcome = await invokeAlone({ ...environment, NODE_OPTIONS: '' }, { ...event, resource });
    const expected = createHash('sha256');
    let skip = 1_000_000;
    for await (const chunk of bytesOf(large)) {
      expected.update(chunk.subarray(skip));
      skip = Math.max(0, skip - chunk.length);
    }
    expect(outcome).toMatchObject({ status: 206, bytes: 200_000_000, sha256: expected.digest('hex') });
    expect(outcome.peakMemory).toBeLessThan(128 * 2 ** 20);
  });
});

describe('what was served', () => {
  test('has not been written to the file system', () => {
    expect(service.logs.filter(({ line }) => line.includes(watchMark))).toEqual([]);
    expect(service.logs.filter(({ line }) => line.includes('ERR_ACCESS_DENIED'))).toEqual([]);
  });

  test('is watched: a process that writes is refused and reported', () => {
    const script = `import { open, writeFile } from 'node:fs/promises'; import * as fs from 'node:fs';
      for (const write of [() => writeFile('/tmp/x', 'x'), () => open('/tmp/x', 'w'), async () => fs.writeFileSync('/tmp/x', 'x'),
        async () => fs.openSync('/tmp/x', 'a')]) await write().catch((error) => console.log(error.code));
      fs.readFileSync('/proc/version');`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      env: writeWatch,
      encoding: 'utf8',
    });
    expect(stdout).toBe('ERR_ACCESS_DENIED\n'.repeat(4));
    expect(stderr.split('\n').filter((line) => line.includes(watchMark))).toHaveLength(4);
  });
});
