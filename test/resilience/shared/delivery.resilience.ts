import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeliveryReceipt } from '../../../lib/contract/delivery.ts';
import { publicKeyFingerprint } from '../../../lib/crypt4gh/index.ts';
import { vectorKey } from '../../helpers/export-world.ts';
import { bytesOf } from '../../helpers/made-files.ts';
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

test('an export ends with a receipt that lists every file, and says that it is complete', async () => {
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
