import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import type { AwsCall, Fault } from '../../../lib/local/endpoint/traffic.ts';
import { collect } from '../../helpers/crypt4gh-vectors.ts';
import { apis, documentedService, fromDatabase, small, staged, whileFailing } from '../../helpers/documented-calls.ts';
import { bytesOf } from '../../helpers/made-files.ts';
import { readPlainly } from '../../helpers/plain-crypt4gh.ts';
import { expectProblem, rawRequest } from '../../helpers/raw-http.ts';
import { basic, Service } from '../../helpers/service.ts';

/** What every route answers while the database, S3, SQS or KMS is down: 503, after the patience that a call has with it. */

let service: Service;
let visa: string;

beforeAll(async () => {
  service = await Service.shared();
  visa = await documentedService(service);
});
afterAll(() => service?.stop());

const resuming = { error: { status: 400, code: 'DatabaseResumingException' } };
const slowDown = { error: { status: 503, code: 'SlowDown' } };
const directRead = ({ caller, action }: AwsCall) => caller === 'direct-file' && action === 'GetObject';

/** Ask while calls fail that match. */
async function asked<T>(fault: Fault, matches: (call: AwsCall) => boolean, ask: () => Promise<T>): Promise<T> {
  const heal = service.engine.traffic.addFault((call) => (matches(call) ? fault : undefined));
  return await ask().finally(heal);
}

describe('every operation of the documents that can say so', () => {
  test('says 503 while the database resumes, Secrets Manager, S3, SQS or KMS is down', async () => {
    const down = { error: { status: 500, code: 'InternalError' } };
    const outboxRoutes = ['proxy GET /files', 'proxy GET /stream/{file}', 'proxy HEAD /stream/{file}'];
    const fromS3 = ({ service: name, caller }: AwsCall) => name === 's3' && /^(files|stream)$/.test(caller);
    const fromCatalogue = ({ service: name, caller }: AwsCall) => name === 'rds-data' && caller !== 'authorize-outbox';
    // The authorizers keep what they have read.
    await service.engine.functions.recycle();
    const fromSecrets = ({ caller }: AwsCall) => caller === 'authorize-admin';
    await whileFailing(down, fromSecrets, ['proxy GET /admin'], 503);
    await Promise.all([
      whileFailing(resuming, fromCatalogue, fromDatabase(503), 503),
      whileFailing(down, fromS3, outboxRoutes, 503),
      whileFailing(down, ({ service: name }) => name === 'kms', ['proxy GET /.well-known/jwks.json'], 503),
      whileFailing(down, ({ action }) => action === 'SendMessage', ['proxy POST /export/{archive_kind}'], 503),
    ]);
    for (const api of Object.values(apis)) {
      const unavailable = api.statuses.filter((status) => status.endsWith(' 503'));
      expect(unavailable.filter((status) => !api.seen.has(status))).toEqual([]);
    }
  });
});

describe('a database that is down', () => {
  const password = () => ({ Authorization: basic(service.connection.archiveUser) });

  test.each([
    ['GET', 'files?inbox=false'],
    ['GET', `stream/${staged}`],
    ['GET', 'stream/nothing.c4gh'],
    ['HEAD', `stream/${staged}`],
  ])('%s %s is 503 without a challenge', async (method, path) => {
    await service.engine.functions.recycle();
    const headers = { 'X-GA4GH-Visa': visa, ...password() };
    const down = ({ action }: AwsCall) => action === 'ExecuteStatement';
    const reply = await asked(resuming, down, () => rawRequest(service.connection.proxyUrl, path, { method, headers }));
    expect(reply.status).toBe(503);
    expect(reply.headers['retry-after']).toMatch(/^\d+$/);
    expect(reply.headers['www-authenticate']).toBeUndefined();
  });

  test('direct access: 503 with Retry-After, well before the gateway gives up', async () => {
    const started = performance.now();
    const replies = await asked(
      resuming,
      ({ service: name }) => name === 'rds-data',
      () =>
        Promise.all([service.direct('metadata/datasets', visa), service.direct('metadata/datasets/EGAD1/files', visa)]),
    );
    for (const reply of replies) expectProblem(reply, 503, 'temporarily_unavailable');
    expect(performance.now() - started).toBeLessThan(12_000);
  });

  test('DRS: 503 in the same way', async () => {
    const body = JSON.stringify({ passports: [visa] });
    const object = () =>
      service.direct(`ga4gh/drs/v1/objects/${small}`, undefined, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
      });
    const { status, headers, text } = await asked(resuming, ({ service: name }) => name === 'rds-data', object);
    const { code } = JSON.parse(text);
    expect({ status, code, headers }).toMatchObject({
      status: 503,
      code: 'temporarily_unavailable',
      headers: { 'retry-after': '15' },
    });
  });
});

describe('S3 that is down', () => {
  test('before the first segment of a plaintext: it still is a status', async () => {
    const reply = await asked(slowDown, directRead, () => service.direct(`files/${small}`, visa));
    expectProblem(reply, 503, 'temporarily_unavailable');
  });

  test('while a container is put together: 503 with Retry-After, nothing is left, and the next request is served', async () => {
    const { publicKey, privateKey } = generateKeyPair();
    const headers = { 'Public-Key': Buffer.from(publicKey).toString('base64') };
    const made = { path: 'study/d.bam', size: 20_000_000 };
    const { fileId } = await service.archive('EGAD1', made.path, made.size);
    const container = () => service.direct(`files/${fileId}?destinationFormat=CRYPT4GH`, visa, { headers });
    const copying = ({ caller, action }: AwsCall) => caller === 'direct-file' && action === 'UploadPartCopy';
    expectProblem(await asked(slowDown, copying, container), 503, 'temporarily_unavailable');
    expect((await service.outboxKeys()).filter((name) => name.startsWith('direct/'))).toEqual([]);
    const Bucket = service.connection.outputs.OutboxBucketName;
    expect((await service.s3.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? []).toEqual([]);
    const reply = await container();
    expect(reply.status).toBe(307);
    const bytes = Buffer.from(await (await fetch(reply.headers.location ?? '')).arrayBuffer());
    const plaintext = await collect(bytesOf(made));
    expect(readPlainly(bytes, privateKey).equals(plaintext)).toBe(true);
  });
});
