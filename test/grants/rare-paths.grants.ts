import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CopyObjectCommand, DeleteObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import type { AwsCall, Fault } from '../../lib/local/endpoint/traffic.ts';
import { synthesizeWithSettings } from '../helpers/assembly-with-settings.ts';
import { exportRows, requestIdOf } from '../helpers/export-rows.ts';
import { otherBucket, widest } from '../helpers/function-roles.ts';
import { Service, until } from '../helpers/service.ts';

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

/** Wait until a file of a request has this state. */
const becomes = (state: string, requestId: string, fileId: string) =>
  until(async () => {
    const where = `request_id = '${requestId}' and file_id = '${fileId}' and state = '${state}'`;
    return (await service.sql(`select true from data_out.request_files where ${where}`))[0];
  }, `${fileId} to be ${state}`);

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
  // DRS describes a file from the catalogue alone.
  expect((await service.direct(`ga4gh/drs/v1/objects/${fileId}`, token)).status).toBe(200);
  expect((await service.direct(`htsget/reads/${reads}`, token)).status).toBe(500);
  const requestId = await exported();
  for (const file of files) await becomes('given_up', requestId, file.fileId);
});

test('a copy that failed continues with the parts that S3 has', async () => {
  await archived('large.bam', large);
  const isBroken = once(by('stage-file', 'UploadPartCopy'), forbidden);
  await service.settled(await exported());
  expect(isBroken()).toBe(true);
  expect(service.calls('stage-file s3 ListParts')).toBeGreaterThan(0);
});

test.each([
  ['small', small, 'PutObject'],
  ['large', large, 'CompleteMultipartUpload'],
])('a %s container whose row was withdrawn while it was written is deleted', async (_, size, action) => {
  const { fileId } = await archived('sample.bam', size);
  const isLate = once(by('stage-file', action), {
    when: 'after',
    action: () =>
      service
        .sql(`update data_out.request_files set state = 'withdrawn' where file_id = '${fileId}'`)
        .then(() => undefined),
  });
  const deleted = service.calls('stage-file s3 DeleteObject');
  await exported();
  await until(
    () => (service.calls('stage-file s3 DeleteObject') > deleted ? true : undefined),
    'the container to be deleted',
  );
  expect(isLate()).toBe(true);
  expect((await service.outboxKeys(subject)).filter((key) => key.includes(fileId))).toEqual([]);
});

test('an upload of a file that is no longer released is aborted', async () => {
  const { fileId } = await archived('large.bam', large);
  once(by('stage-file', 'UploadPartCopy'), {
    ...forbidden,
    action: () => service.setDataset(datasetId(), 'deprecated'),
  });
  const aborted = service.calls('stage-file s3 AbortMultipartUpload');
  await becomes('rejected', await exported(), fileId);
  expect(service.calls('stage-file s3 AbortMultipartUpload')).toBe(aborted + 1);
});

test('files and requests that failed for good are recorded, and settled', async () => {
  const files = [await archived('small.vcf', small), await archived('large.bam', large)];
  const mend = service.engine.traffic.addFault((call) => (by('stage-file', 'GetObject')(call) ? forbidden : undefined));
  const requestId = await exported();
  for (const { fileId } of files) await becomes('given_up', requestId, fileId);
  mend();
  await receiptOf(requestId);

  const heal = service.engine.traffic.addFault((call) =>
    by('consume-export', 'ExecuteStatement')(call) ? refused : undefined,
  );
  const undecided = await exported();
  const rows = await service.settled(undecided);
  heal();
  expect(rows).toEqual([expect.objectContaining({ event: 'rejected', reason: 'failed' })]);
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

test('the sweep sends what waits, and settles what nobody else will', async () => {
  const files = [await archived('small.vcf', small), await archived('large.bam', large)];
  const requestId = await exported();
  await service.settled(requestId, 2);
  await receiptOf(requestId);
  const hours = "now() - interval '2 hours'";
  await service.sql(`update data_out.request_files set state = 'waiting', changed_at = ${hours}
    where request_id = '${requestId}'`);
  await service.sql(
    `update data_out.requests set requested_at = ${hours}, revision = 2 where request_id = '${requestId}'`,
  );
  const settled = requestIdOf(1000 + dataset);
  for (const statement of exportRows({ requestId: settled, recipient: 'ab'.repeat(32) }, { given_up: 1 })) {
    await service.sql(statement);
  }
  expect(await service.engine.functions.invoke('sweep-deliveries', {})).toMatchObject({ ok: true });
  for (const { fileId } of files) await becomes('staged', requestId, fileId);
  for (const id of [requestId, settled]) await receiptOf(id);
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

test('containers of a deprecated dataset are purged, of recipients and of the direct API, and settled again', async () => {
  const { fileId } = await archived('large.bam', large);
  const requestId = await exported();
  await service.settled(requestId);
  await receiptOf(requestId);
  const headers = { 'Public-Key': Buffer.from(formatPublicKey(publicKey)).toString('base64') };
  const made = await service.direct(`files/${fileId}?destinationFormat=CRYPT4GH`, await visa(), { headers });
  expect(made.status).toBe(307);
  await service.setDataset(datasetId(), 'deprecated');
  expect(await service.engine.functions.invoke('withdraw', {})).toMatchObject({ ok: true });
  expect((await service.outboxKeys()).filter((key) => key.includes(fileId))).toEqual([]);
  await receiptOf(requestId, 2);
});

test('a migration that fails is rolled back, and runs again', async () => {
  const isBroken = once((call) => call.caller === 'migrate' && call.input?.transactionId !== undefined, {
    error: { status: 503, code: 'ServiceUnavailableError' },
  });
  const broken = await service.engine.functions.invoke('migrate', {});
  expect([broken.ok, isBroken()]).toEqual([true, true]);
  expect(service.calls('migrate rds-data RollbackTransaction')).toBe(1);
});

test('the rows of an export are rolled back when a statement fails, and written again', async () => {
  await archived('small.vcf', small);
  const isBroken = once((call) => call.caller === 'consume-export' && call.input?.transactionId !== undefined, {
    error: { status: 503, code: 'ServiceUnavailableError' },
  });
  await service.settled(await exported());
  expect([isBroken(), service.calls('consume-export rds-data RollbackTransaction')]).toEqual([true, 1]);
});

test('the public parts of all keys of receipts are served', async () => {
  const response = await fetch(service.url('.well-known/jwks.json'));
  expect(((await response.json()) as { keys: unknown[] }).keys).toHaveLength(2);
});

/** Wait until the receipt of a revision is written. */
function receiptOf(requestId: string, revision = 1): Promise<true> {
  return until(async () => {
    const [row] = await service.sql(
      `select settled_revision from data_out.requests where request_id = '${requestId}' and receipt is not null`,
    );
    return Number(row?.[0] ?? 0) >= revision ? true : undefined;
  }, `the receipt of ${requestId}`);
}
