import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeliveryReceipt } from '../../../lib/contract/delivery.ts';
import { publicKeyFingerprint } from '../../../lib/crypt4gh/index.ts';
import { localTarget } from '../../../lib/ops/target.ts';
import { vectorKey } from '../../helpers/export-world.ts';
import { bytesOf } from '../../helpers/made-files.ts';
import { runTool } from '../../helpers/ops-world.ts';
import { blocksOf } from '../../helpers/pages.ts';
import { settleRequest } from '../../helpers/requests.ts';
import { Service, until } from '../../helpers/service.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.shared();
});
afterAll(() => service?.stop());

const { publicKey } = vectorKey('bob');
const keyFingerprint = publicKeyFingerprint(publicKey);

async function keySet(): Promise<JSONWebKeySet> {
  return (await (await fetch(service.url('.well-known/jwks.json'))).json()) as JSONWebKeySet;
}

/** The receipt of a request, checked by another library with the keys that the proxy publishes. */
async function receiptOf(requestId: string, visa: string) {
  const row = await until(async () => {
    const files = await service.listAll(visa);
    return files.find(({ fileName }) => fileName.endsWith(`-${requestId}.delivery.jws`));
  }, `the receipt of ${requestId}`);
  const jws = (await service.download(visa, row.fileName)).toString('latin1');
  const { payload, protectedHeader } = await compactVerify(jws, createLocalJWKSet(await keySet()));
  return { row, header: protectedHeader, payload: JSON.parse(Buffer.from(payload).toString()) as DeliveryReceipt };
}

const stateOf = async (requestId: string) => {
  const columns = 'state, staged, staged_bytes, settled_revision';
  return (await service.sql(`select ${columns} from data_out.requests where request_id = '${requestId}'`))[0];
};

test('the keys are public, and may be cached for an hour', async () => {
  const response = await fetch(service.url('.well-known/jwks.json'));
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/jwk-set+json');
  expect(response.headers.get('cache-control')).toBe('public, max-age=3600');
  const [key, ...others] = (await keySet()).keys;
  expect(others).toEqual([]);
  expect(Object.keys(key!).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
});

describe('an export', () => {
  test('ends with a receipt that lists every file, and says that it is complete', async () => {
    const made = [
      { path: 'a/one.bam', size: 70_000, fileId: 'EGAF1' },
      { path: 'b/two.vcf', size: 5, fileId: 'EGAF2' },
    ];
    for (const { path, size, fileId } of made) await service.archive('EGAD1', path, size, fileId);
    await service.setDataset('EGAD1', 'released');
    const visa = await service.visa({ subject: 'complete' });
    const requestId = await service.exported({ id: 'EGAD1', visa, publicKey });
    await service.settled(requestId, 2);
    const names = ['EGAF1-one.bam.c4gh', 'EGAF2-two.vcf.c4gh'];
    await settleRequest(
      service,
      { requestId, subject: 'complete', datasetId: 'EGAD1', keyFingerprint },
      made.map(({ fileId }, index) => ({ fileId, name: names[index]!, state: 'staged' as const })),
    );

    const { row, header, payload } = await receiptOf(requestId, visa);
    expect(row).toMatchObject({ fileName: `EGAD1-${requestId}.delivery.jws`, mimeType: 'application/jose' });
    expect(header).toEqual({ alg: 'ES256', typ: 'data-out-delivery+jwt', kid: (await keySet()).keys[0]?.kid });
    expect(payload).toMatchObject({
      iss: 'org.example.data-out',
      jti: requestId,
      generation: 1,
      dataset: 'EGAD1',
      kind: 'dataset',
      key_fingerprint: createHash('sha256').update(publicKey).digest('hex'),
      complete: true,
      missing: [],
    });
    expect(Math.abs(payload.iat * 1000 - Date.now())).toBeLessThan(60_000);
    for (const [index, file] of payload.files.entries()) {
      const container = await service.download(visa, file.name);
      const plaintext = createHash('sha256');
      for await (const bytes of bytesOf(made[index]!)) plaintext.update(bytes);
      expect(file).toEqual({
        name: names[index],
        file_id: made[index]?.fileId,
        path: made[index]?.path,
        size: container.length,
        plaintext_size: made[index]?.size,
        plaintext_sha256: plaintext.digest('hex'),
        crc64nvme: expect.stringMatching(/^[A-Za-z0-9+/]{11}=$/),
        header_sha256: createHash('sha256').update(container.subarray(0, 124)).digest('hex'),
      });
    }
    const bytes = payload.files.reduce((sum, { size }) => sum + size, 0);
    await until(async () => ((await stateOf(requestId))?.[3] === '1' ? true : undefined), 'the receipt to be recorded');
    expect(await stateOf(requestId)).toEqual(['complete', '2', String(bytes), '1']);
    const settled = `select reason, dataset_id, bytes from data_out.export_log
      where request_id = '${requestId}' and event = 'settled'`;
    expect(await service.sql(settled)).toEqual([['complete', 'EGAD1', String(bytes)]]);
  });

  test('that lacks a file says which, why, and that it is incomplete; a later success replaces the receipt', async () => {
    const request = { requestId: randomUUID(), subject: 'incomplete', datasetId: 'EGAD2', keyFingerprint };
    const visa = await service.visa({ subject: 'incomplete' });
    await service.putStaged('incomplete', 'EGAF3-x.c4gh', 'x'.repeat(200));
    await settleRequest(service, request, [
      { fileId: 'EGAF3', name: 'EGAF3-x.c4gh', state: 'staged' },
      { fileId: 'EGAF4', state: 'rejected', reason: 'not_released' },
      { fileId: 'EGAF5', state: 'given_up' },
    ]);
    const first = await receiptOf(request.requestId, visa);
    expect(first.payload.complete).toBe(false);
    expect(first.payload.files.map(({ name }) => name)).toEqual(['EGAF3-x.c4gh']);
    expect(first.payload.missing).toEqual([
      { file_id: 'EGAF4', path: '', reason: 'not_released' },
      { file_id: 'EGAF5', path: '', reason: 'given_up' },
    ]);

    await service.sql(
      `update data_out.request_files set state = 'staged', reason = null, outbox_key = '${service.prefix('incomplete')}/' || file_id || '-y.c4gh',
         bytes = 1, header_sha256 = repeat('0', 64)
       where request_id = '${request.requestId}' and state <> 'staged'`,
    );
    await service.sql(`update data_out.requests set revision = 2 where request_id = '${request.requestId}'`);
    await settleRequest(service, request, []);
    await until(
      async () => ((await stateOf(request.requestId))?.[3] === '2' ? true : undefined),
      'the second receipt to be recorded',
    );
    expect((await receiptOf(request.requestId, visa)).payload).toMatchObject({ generation: 2, complete: true });
    expect(await stateOf(request.requestId)).toEqual(['complete', '3', '202', '2']);
  });
});

test('the block of the page checks a receipt, and refuses a changed one', async () => {
  const request = { requestId: randomUUID(), subject: 'reader', datasetId: 'EGAD4', keyFingerprint };
  await service.putStaged('reader', 'EGAF3-x.c4gh', 'x');
  await settleRequest(service, request, [
    { fileId: 'EGAF3', name: 'EGAF3-x.c4gh', state: 'staged' },
    { fileId: 'EGAF4', state: 'given_up' },
  ]);
  const visa = await service.visa({ subject: 'reader' });
  const { row } = await receiptOf(request.requestId, visa);
  const jws = (await service.download(visa, row.fileName)).toString('latin1');
  await using folder = await mkdtempDisposable(join(tmpdir(), 'data-out-receipt-'));
  const RECEIPT = join(folder.path, row.fileName);
  const script = blocksOf('docs/delivery.md').find(({ language }) => language === 'ts')?.text ?? '';
  const check = async (receipt: string) => {
    await writeFile(RECEIPT, receipt);
    const env = { ...process.env, PROXY: service.connection.proxyUrl, RECEIPT };
    const run = ['--input-type=module', '--eval', script];
    return await promisify(execFile)(process.execPath, run, { env, cwd: import.meta.dirname });
  };
  expect((await check(jws)).stdout).toBe('incomplete 1 1\n');
  const [header = '', payload = '', signature = ''] = jws.split('.');
  const complete = Buffer.from(payload, 'base64url').toString().replace('"complete":false', '"complete":true');
  const changed = [header, Buffer.from(complete).toString('base64url'), signature].join('.');
  await expect(check(changed)).rejects.toThrow('signature verification failed');
});

test('a receipt has its media type at the proxy and in S3', async () => {
  const request = { requestId: randomUUID(), subject: 'typed', datasetId: 'EGAD3', keyFingerprint };
  await service.putStaged('typed', 'EGAF3-x.c4gh', 'x');
  await settleRequest(service, request, [{ fileId: 'EGAF3', name: 'EGAF3-x.c4gh', state: 'staged' }]);
  const visa = await service.visa({ subject: 'typed' });
  const { row } = await receiptOf(request.requestId, visa);
  const head = await service.get(`stream/${row.fileName}`, visa, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'application/jose']);
  const Key = `${service.prefix('typed')}/${row.fileName}`;
  const Bucket = service.connection.outputs.OutboxBucketName;
  const object = await service.s3.send(new HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }));
  expect(object).toMatchObject({ ContentType: 'application/jose', ContentLength: row.size });
  expect(object.Metadata).toMatchObject({ 'request-id': request.requestId, generation: '1' });
});

test('a request with a file that is open waits', async () => {
  const requestId = randomUUID();
  await service.sql(
    `insert into data_out.request_files (request_id, file_id, state) values ('${requestId}', 'EGAF6', 'sent')`,
  );
  const request = { requestId, subject: 'waiting', datasetId: 'EGAD1', keyFingerprint };
  await settleRequest(service, request, [{ fileId: 'EGAF7', state: 'given_up' }]);
  await until(() => {
    const lines = service.logs.filter(({ line }) => line.includes(requestId));
    return lines.some(({ line }) => line.includes('not_settled')) ? true : undefined;
  }, 'the message to go');
  expect(await stateOf(requestId)).toEqual(['accepted', null, null, '0']);
  expect(await service.allOutboxKeys('waiting')).toEqual([]);
});

test('an older request that comes late counts a newer container of its key, and misses one of another key', async () => {
  for (const fileId of ['EGAF81', 'EGAF82']) await service.archive('EGAD8', `${fileId}.bam`, 1000, fileId);
  await service.setDataset('EGAD8', 'released');
  const visa = await service.visa({ subject: 'late', datasetId: 'EGAD8' });
  const exportFile = (fileId: string, key: 'bob' | 'carol') =>
    service.exported({ id: fileId, type: 'fileId', visa, publicKey: vectorKey(key).publicKey });
  const newer = { EGAF81: await exportFile('EGAF81', 'bob'), EGAF82: await exportFile('EGAF82', 'carol') };
  for (const requestId of Object.values(newer)) await receiptOf(requestId, visa);

  const older = randomUUID();
  const { ExportRequestsQueueUrl } = service.connection.outputs;
  const message = { jwtToken: visa, publicKey: Buffer.from(publicKey).toString('base64'), datasetId: 'EGAD8' };
  const requestedAt = new Date(Date.now() - 3_600_000).toISOString();
  await service.enqueue(ExportRequestsQueueUrl, JSON.stringify(message), { requestId: older, requestedAt });
  const { payload } = await receiptOf(older, visa);
  const { payload: ofNewer } = await receiptOf(newer.EGAF81, visa);
  expect(payload.files).toEqual(ofNewer.files);
  expect(payload).toMatchObject({
    complete: false,
    missing: [{ file_id: 'EGAF82', path: 'EGAF82.bam', reason: 'superseded', by: newer.EGAF82 }],
  });
});

test('a container that is purged after the receipt is missing in the next one', async () => {
  for (const fileId of ['EGAF91', 'EGAF92']) await service.archive('EGAD9', `${fileId}.bam`, 1000, fileId);
  await service.setDataset('EGAD9', 'released');
  const visa = await service.visa({ subject: 'purged', datasetId: 'EGAD9' });
  const whole = await service.exported({ id: 'EGAD9', visa, publicKey });
  expect((await receiptOf(whole, visa)).payload).toMatchObject({ generation: 1, complete: true });
  const one = await service.exported({ id: 'EGAF92', type: 'fileId', visa, publicKey });
  await receiptOf(one, visa);

  // The object is of the newer request; with it goes what the older one has there.
  const { exitCode } = await runTool(['outbox', 'purge', '--request', one, '--yes'], localTarget(service.connection));
  expect(exitCode).toBe(0);
  for (const requestId of [whole, one]) {
    await until(async () => ((await stateOf(requestId))?.[3] === '2' ? true : undefined), 'the second receipt');
    expect((await receiptOf(requestId, visa)).payload).toMatchObject({
      generation: 2,
      complete: false,
      files: requestId === whole ? [{ file_id: 'EGAF91' }] : [],
      missing: [{ file_id: 'EGAF92', reason: 'withdrawn' }],
    });
    expect((await stateOf(requestId))?.[0]).toBe('withdrawn');
  }
});
