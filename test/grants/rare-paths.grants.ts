import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CopyObjectCommand, DeleteObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openMarkerKey } from '../../lib/contract/outbox-key.ts';
import { formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import type { AwsCall, Fault } from '../../lib/local/endpoint/traffic.ts';
import { synthesizeWithSettings } from '../helpers/assembly-with-settings.ts';
import { Service, until } from '../helpers/service.ts';
import { otherBucket, widest } from './settings.ts';

/**
 * The ways of the functions that the end-to-end tests do not take, with the settings that widen roles: each uses a permission
 * that no other way uses. So the run proves that this permission is needed.
 */
const folder = mkdtempSync(join(tmpdir(), 'data-out-grants-'));
const { publicKey } = generateKeyPair();
const small = 1000;
const large = 9 * 1024 * 1024;
const subject = 'researcher';
let service: Service;
let dataset = 0;

beforeAll(async () => {
  const assemblyDir = join(folder, 'assembly');
  synthesizeWithSettings(assemblyDir, widest);
  const existingBucketKeys = { [otherBucket.bucketName]: otherBucket.keyArn };
  service = await Service.start({ assemblyDir, existingBucketKeys });
}, 120_000);
beforeEach(() => {
  dataset += 1;
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const datasetId = () => `EGAD${dataset}`;
const visa = () => service.visa({ datasetId: datasetId() });

/** Archive a file in a dataset of this test, which is released. @param place the body's bucket @default - the archive */
async function archived(path: string, size: number, place?: string) {
  const { fileId } = await service.archive(datasetId(), path, size);
  await service.setDataset(datasetId(), 'released');
  const Bucket = service.connection.outputs.ArchiveBucketName;
  const [[key = ''] = []] = await service.sql(`select archive_file_path from sda.files where stable_id = '${fileId}'`);
  const body = { Bucket: place ?? Bucket, Key: String(key) };
  if (place !== undefined) {
    await service.s3.send(new CopyObjectCommand({ ...body, CopySource: `${Bucket}/${key}` }));
    await service.s3.send(new DeleteObjectCommand({ Bucket, Key: String(key) }));
    await service.sql(`update sda.files set archive_location = 's3://${place}' where stable_id = '${fileId}'`);
  }
  return { fileId, loseBody: () => service.s3.send(new DeleteObjectCommand(body)) };
}

const exported = async () => service.exported({ id: datasetId(), visa: await visa(), publicKey });

/** Give the first such call a fault. @returns whether it has come */
function once(matches: (call: AwsCall) => boolean, fault: Fault): () => boolean {
  let done = false;
  const undo = service.engine.traffic.addFault((call) => {
    if (done || !matches(call)) return undefined;
    done = true;
    undo();
    return fault;
  });
  return () => done;
}
const by = (caller: string, action: string) => (call: AwsCall) => call.caller === caller && call.action === action;
/** Not one that the SDK repeats. */
const refused: Fault = { error: { status: 400, code: 'BadRequestException' } };
const forbidden: Fault = { error: { status: 403, code: 'AccessDenied' } };

const rejected = (requestId: string, fileId: string) =>
  until(async () => {
    const where = `request_id = '${requestId}' and file_id = '${fileId}' and state in ('rejected', 'given_up')`;
    return (await service.sql(`select reason from data_out.request_files where ${where}`))[0];
  }, `${fileId} to be given up`);

test.each([
  ['the archive', undefined],
  ['another bucket', otherBucket.bucketName],
])('a body of %s is exported, served, described, and missed when it is gone', async (_, place) => {
  const files = [await archived('small.vcf', small, place), await archived('large.bam', large, place)] as const;
  await service.settled(await exported(), 2);
  const token = await visa();
  const [{ fileId }, { fileId: reads }] = files;
  expect((await service.direct(`files/${fileId}`, token)).status).toBe(200);
  const redirect = await service.direct(`files/${fileId}/content`, token);
  expect((await fetch(String(redirect.headers.location))).status).toBe(200);
  expect((await service.direct(`ga4gh/drs/v1/objects/${fileId}`, token)).status).toBe(200);
  // Its bytes are not BAM, which takes reading them.
  expect((await service.direct(`htsget/reads/${reads}`, token)).status).toBe(400);

  for (const { loseBody } of files) await loseBody();
  expect((await service.direct(`files/${fileId}`, token)).status).toBe(500);
  expect((await service.direct(`ga4gh/drs/v1/objects/${fileId}`, token)).status).toBe(500);
  expect((await service.direct(`htsget/reads/${reads}`, token)).status).toBe(500);
  const requestId = await exported();
  for (const file of files) await rejected(requestId, file.fileId);
});

test('an upload whose answer was lost is found and aborted, and a copy that failed continues', async () => {
  await archived('large.bam', large);
  const isLost = once(by('stage-file', 'CreateMultipartUpload'), { when: 'after', drop: true });
  const isBroken = once(by('stage-file', 'UploadPartCopy'), forbidden);
  await service.settled(await exported());
  expect([isLost(), isBroken()]).toEqual([true, true]);
  expect(service.calls('stage-file s3 ListParts')).toBeGreaterThan(0);
});

test('a message that failed is put back into each queue', async () => {
  await archived('small.vcf', small);
  const faults = [
    once(by('consume-export', 'ExecuteStatement'), refused),
    once(by('stage-file', 'GetObject'), forbidden),
    once(by('settle-delivery', 'Sign'), refused),
  ];
  const requestId = await exported();
  await service.settled(requestId);
  await receiptOf(requestId);
  expect(faults.map((has) => has())).toEqual([true, true, true]);
});

test('the consumer of a request sends it on if its files are staged before it ends', async () => {
  await archived('small.vcf', small);
  const [staged] = [await exported()];
  await service.settled(staged);
  const isLate = once(
    ({ caller, input }) => caller === 'consume-export' && /with completed as/.test(String(input?.sql)),
    {
      action: () => until(async () => ((await stagedFiles()) > 1 ? true : undefined), 'the file to be staged'),
    },
  );
  await receiptOf(await exported());
  expect(isLate()).toBe(true);
});

test('the parts of a receipt that fails are dropped', async () => {
  const requestId = randomUUID();
  const hash = 'ab'.repeat(32);
  await service.sql(
    `insert into data_out.requests
       (request_id, requested_at, kind, dataset_id, recipient, key_fingerprint, state, files, sealed_at)
     values ('${requestId}', now(), 'dataset', '${datasetId()}', '${hash}', '${hash}', 'accepted', 3500, now())`,
  );
  // More than 5 MiB of ids.
  await service.sql(
    `insert into data_out.request_files (request_id, file_id, state)
     select '${requestId}', rpad('EGAF' || n, 2000, 'x'), 'given_up' from generate_series(1, 3500) as n`,
  );
  // After its effect: the SDK repeats a call whose connection ends while it sends its body.
  const isBroken = once(by('settle-delivery', 'UploadPart'), { ...forbidden, when: 'after' });
  await service.enqueue(service.connection.outputs.DeliveriesQueueUrl, JSON.stringify({ requestId }));
  await receiptOf(requestId);
  expect([isBroken(), service.calls('settle-delivery s3 AbortMultipartUpload')]).toEqual([true, 1]);
});

test('a container that was deleted behind the service is no longer looked for', async () => {
  const { fileId } = await archived('small.vcf', small);
  const requestId = await exported();
  await service.settled(requestId);
  const [Key] = (await service.outboxKeys(subject)).filter((key) => key.includes(fileId));
  await service.s3.send(new DeleteObjectCommand({ Bucket: service.connection.outputs.OutboxBucketName, Key }));
  await service.setDataset(datasetId(), 'deprecated');
  expect(await service.engine.functions.invoke('withdraw', {})).toMatchObject({ ok: true });
  const state = `select state from data_out.request_files where request_id = '${requestId}'`;
  expect(await service.sql(state)).toEqual([['withdrawn']]);
});

test('containers of a deprecated dataset are purged, of recipients and of direct access, and unfinished copies', async () => {
  const { fileId } = await archived('large.bam', large);
  await service.settled(await exported());
  const headers = { 'Public-Key': Buffer.from(formatPublicKey(publicKey)).toString('base64') };
  const made = await service.direct(`files/${fileId}?destinationFormat=CRYPT4GH`, await visa(), { headers });
  expect(made.status).toBe(307);
  await service.setDataset(datasetId(), 'deprecated');
  // As a run continues the one before: the receipt of the request has left the sign that it is open.
  expect(await service.engine.functions.invoke('withdraw', { whileOpen: true })).toMatchObject({ ok: true });
  expect((await service.outboxKeys()).filter((key) => key.includes(fileId))).toEqual([]);
  const { OutboxBucketName: Bucket } = service.connection.outputs;
  await service.s3.send(new DeleteObjectCommand({ Bucket, Key: openMarkerKey }));
  expect(await service.engine.functions.invoke('withdraw', { whileOpen: true })).toMatchObject({ ok: true });
});

test('a migration that fails is rolled back, and runs again', async () => {
  const isBroken = once((call) => call.caller === 'migrate' && call.input?.transactionId !== undefined, {
    error: { status: 503, code: 'ServiceUnavailableError' },
  });
  const broken = await service.engine.functions.invoke('migrate', {});
  expect([broken.ok, isBroken()]).toEqual([true, true]);
  expect(service.calls('migrate rds-data RollbackTransaction')).toBe(1);
});

test('the decision about a quota is rolled back when a statement fails, and made again', async () => {
  const { fileId } = await archived('small.vcf', small);
  const isBroken = once((call) => call.caller === 'consume-export' && call.input?.transactionId !== undefined, {
    error: { status: 503, code: 'ServiceUnavailableError' },
  });
  await service.settled(await exported());
  expect([isBroken(), service.calls('consume-export rds-data RollbackTransaction')]).toEqual([true, 1]);

  await service.sql(`update sda.files set archive_file_size = 1073741824 where stable_id = '${fileId}'`);
  const rejection = { event: 'rejected', reason: 'outbox_quota_exceeded' };
  expect(await service.settled(await exported())).toEqual([expect.objectContaining(rejection)]);
});

test('the public parts of all keys of receipts are served', async () => {
  const response = await fetch(service.url('.well-known/jwks.json'));
  expect(((await response.json()) as { keys: unknown[] }).keys).toHaveLength(2);
});

async function stagedFiles(): Promise<number> {
  const rows = await service.sql(
    `select 1 from data_out.export_log where event = 'staged' and dataset_id = '${datasetId()}'`,
  );
  return rows.length;
}

/** Wait until the receipt is written. */
function receiptOf(requestId: string): Promise<true> {
  return until(async () => {
    const [row] = await service.sql(
      `select receipt_generation from data_out.requests where request_id = '${requestId}'`,
    );
    return Number(row?.[0] ?? 0) > 0 ? true : undefined;
  }, `the receipt of ${requestId}`);
}
