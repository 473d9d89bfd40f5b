import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { directChallenge } from '../../../lib/contract/http.ts';
import { generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { gatewayError, renderGatewayResponse } from '../../../lib/local/api-gateway/gateway-response.ts';
import type { RestApi } from '../../../lib/local/api-gateway/model.ts';
import type { AwsCall, Fault } from '../../../lib/local/endpoint/traffic.ts';
import { ask, rightCase } from '../../../lib/ops/smoke/conformance/operations.ts';
import type { Run } from '../../../lib/ops/smoke/run.ts';
import { problemReply } from '../../../lib/service/http/problem.ts';
import { conformanceRun } from '../../helpers/conformance-run.ts';
import { collect } from '../../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../../helpers/made-files.ts';
import { OpenApi } from '../../helpers/openapi.ts';
import { readPlainly } from '../../helpers/plain-crypt4gh.ts';
import { expectProblem, type RawReply } from '../../helpers/raw-http.ts';
import { bai, offset, streamed, vector, words } from '../../helpers/region-files.ts';
import { Service } from '../../helpers/service.ts';
import { show, stackTemplate } from '../../helpers/template.ts';

/**
 * What the right requests of the conformance suite are answered in trouble, and what only large files show. Each answer has the
 * form that docs/openapi describes.
 */

const apis = { delivery: OpenApi.read('delivery'), direct: OpenApi.read('direct') };
let service: Service;
let run: Run;
let visa: string;

beforeAll(async () => {
  service = await Service.shared();
  ({ run } = await conformanceRun(service));
  visa = await service.visa();
  // Only a ticket names a part, and none is given during a fault.
  await ask(rightCase('direct GET /htsget/parts/{id}/{part}'), run);
});
afterAll(async () => {
  await run?.[Symbol.asyncDispose]();
  await service?.stop();
});

const resuming = { error: { status: 400, code: 'DatabaseResumingException' } };
const slowDown = { error: { status: 503, code: 'SlowDown' } };
const down = { error: { status: 500, code: 'InternalError' } };
const denied = (code: string) => ({ error: { status: 403, code } });
const fromS3 = ({ service: name, caller }: AwsCall) => name === 's3' && /^(files|stream)$/.test(caller);
const fromCatalogue = ({ service: name, caller }: AwsCall) => name === 'rds-data' && caller !== 'authorize-outbox';
const fromDatabase = ({ service: name }: AwsCall) => name === 'rds-data';
const fromKms = ({ service: name }: AwsCall) => name === 'kms';
const toQueue = ({ action }: AwsCall) => action === 'SendMessage';

/** Operations of the documents that have this status. */
const having = (status: number) =>
  Object.entries(apis).flatMap(([api, { statuses }]) =>
    statuses.filter((one) => one.endsWith(` ${status}`)).map((one) => `${api} ${one.slice(0, -4)}`),
  );
/** Those that ask the database for what they answer. */
const ofCatalogue = (status: number) =>
  having(status).filter((operation) => /^direct | GET \/export\//.test(operation));
const ofOutbox = () => having(500).filter((operation) => /^delivery \w+ \/(files|stream)/.test(operation));

/** Ask while calls fail that match. */
async function asked<T>(fault: Fault, matches: (call: AwsCall) => boolean, request: () => Promise<T>): Promise<T> {
  const heal = service.engine.traffic.addFault((call) => (matches(call) ? fault : undefined));
  return await request().finally(heal);
}

/** The right request of each operation is answered with this status while calls fail that match. */
async function expectWhile(
  fault: Fault,
  matches: (call: AwsCall) => boolean,
  operations: readonly string[],
  status: number,
) {
  expect(operations).not.toEqual([]);
  await asked(fault, matches, () =>
    Promise.all(
      operations.map(async (operation) => {
        const { headers, bytes } = await ask({ ...rightCase(operation), answer: { status } }, run);
        const [api, method = '', path = ''] = operation.split(' ') as ['delivery' | 'direct', string, string];
        const entries = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
        await apis[api].check({ method, path, status, headers: entries, body: bytes });
      }),
    ),
  );
}

const ofKeys = ['delivery GET /.well-known/jwks.json', 'delivery HEAD /.well-known/jwks.json'];

test('the database, S3 or KMS refuses the function: 500', async () => {
  await Promise.all([
    expectWhile(denied('AccessDeniedException'), fromCatalogue, ofCatalogue(500), 500),
    expectWhile(denied('AccessDenied'), fromS3, ofOutbox(), 500),
  ]);
  // The function of the keys asks KMS once.
  await service.engine.functions.recycle();
  await expectWhile(denied('AccessDeniedException'), fromKms, ofKeys, 500);
});

test('the database resumes, or Secrets Manager, S3, SQS or KMS is down: 503', async () => {
  // The authorizers keep what they have read.
  await service.engine.functions.recycle();
  await expectWhile(down, ({ caller }) => caller === 'authorize-admin', ['delivery GET /admin'], 503);
  await Promise.all([
    expectWhile(resuming, fromCatalogue, ofCatalogue(503), 503),
    expectWhile(down, fromS3, ofOutbox(), 503),
    expectWhile(down, fromKms, ofKeys, 503),
    expectWhile(down, toQueue, ['delivery POST /export/{archive_kind}'], 503),
  ]);
  // Without the database the authorizer of the outbox judges nobody.
  await service.engine.functions.recycle();
  await expectWhile(resuming, fromDatabase, ofOutbox(), 503);
});

test('the direct API gives a database up well before the gateway gives the function up', async () => {
  const started = performance.now();
  const reply = await asked(resuming, fromDatabase, () => service.direct('metadata/datasets', visa));
  expectProblem(reply, 503, 'temporarily_unavailable');
  expect(performance.now() - started).toBeLessThan(12_000);
});

describe('an export', () => {
  const post = 'delivery POST /export/{archive_kind}';

  test.each([
    ['throttling', { error: { status: 400, code: 'RequestThrottled' } }, 3],
    ['breaking every connection', { drop: true }, 3],
    ['never answering', { delayMs: 20_000, drop: true }, 3],
    ['gone', { error: { status: 400, code: 'AWS.SimpleQueueService.NonExistentQueue' } }, 1],
    ['forbidden', denied('AccessDenied'), 1],
  ] as const)('with a queue that is %s: 503, and no message', async (_, fault, attempts) => {
    service.engine.traffic.resetCounters();
    await expectWhile(fault, toQueue, [post], 503);
    expect(service.calls('export sqs SendMessage')).toBe(attempts);
  });

  test('with a queue that fails twice and then takes the message: 200, and it is consumed', async () => {
    let failures = 0;
    const heal = service.engine.traffic.addFault((call) => {
      if (!toQueue(call) || failures === 2) return undefined;
      failures += 1;
      return down;
    });
    const { text } = await ask(rightCase(post), run).finally(heal);
    expect(await service.settled(JSON.parse(text).requestId)).not.toEqual([]);
  });
});

describe('S3 that is down', () => {
  const directRead = ({ caller, action }: AwsCall) => caller === 'direct-file' && action === 'GetObject';

  test('before the first segment of a plaintext: it still is a status', () =>
    expectWhile(slowDown, directRead, ['direct GET /files/{fileId}'], 503));

  test('while a container is put together: 503, nothing is left, and the next request is served', async () => {
    const { publicKey, privateKey } = generateKeyPair();
    const headers = { 'Public-Key': Buffer.from(publicKey).toString('base64') };
    const made = { path: 'study/d.bam', size: 20_000_000 };
    const { fileId } = await service.archive('EGAD1', made.path, made.size);
    await service.setDataset('EGAD1', 'released');
    const container = () => service.direct(`files/${fileId}?destinationFormat=CRYPT4GH`, visa, { headers });
    const copying = ({ caller, action }: AwsCall) => caller === 'direct-file' && action === 'UploadPartCopy';
    expectProblem(await asked(slowDown, copying, container), 503, 'temporarily_unavailable');
    expect((await service.outboxKeys()).filter((name) => name.startsWith('direct/'))).toEqual([]);
    const Bucket = service.connection.outputs.OutboxBucketName;
    expect((await service.s3.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? []).toEqual([]);
    const reply = await container();
    expect(reply.status).toBe(307);
    const bytes = Buffer.from(await (await fetch(reply.headers.location ?? '')).arrayBuffer());
    expect(readPlainly(bytes, privateKey).equals(await collect(bytesOf(made)))).toBe(true);
  });
});

describe('what is too large for a reply: 413', () => {
  const checked = async (path: string, reply: RawReply) => {
    const headers = Object.entries(reply.headers).map(([name, value]) => [name, String(value)] as const);
    expect([path, reply.status]).toEqual([path, 413]);
    await apis.direct.check({
      method: 'GET',
      path: `/${path.split('?')[0]}`,
      status: 413,
      headers,
      body: reply.bytes,
    });
  };

  test('a plaintext of more than 200,000,000 bytes', async () => {
    const { fileId } = await service.archive('EGAD1', 'study/c.bam', 10);
    await service.setDataset('EGAD1', 'released');
    await grow(fileId);
    for (const path of [`files/${fileId}`, `files/${fileId}/c.bam`]) {
      const reply = await service.direct(path, visa);
      expect(JSON.parse(reply.text)).toMatchObject({ code: 'reply_too_large', maxRangeBytes: expect.any(Number) });
      await checked(path, reply);
    }
  });

  /** An index of reference `one` whose chunks lie in so many blocks that no ticket has room for their URLs. */
  const scattered = bai(
    4681,
    ...Array.from({ length: 20_000 }, (_, at) => [offset(1_000 + at * 10), offset(1_001 + at * 10)] as const),
  );
  /** The same behind the columns and the name (Tabix § 2). */
  const scatteredTabix = Buffer.concat([
    Buffer.from('TBI\x01'),
    words(1, 2, 1, 2, 0, 35, 0, 4),
    Buffer.from('one\0'),
    scattered.subarray(8),
  ]);
  test.each([
    ['reads', 'reads.bam', '.bai', scattered],
    ['variants', 'variants.vcf.gz', '.tbi', scatteredTabix],
  ])('a ticket of %s in thousands of places', async (datatype, name, suffix, index) => {
    const { fileId } = await service.archiveBytes('EGAD1', `study/${name}`, streamed(vector(name)));
    await service.archiveBytes('EGAD1', `study/${name}${suffix}`, streamed(index));
    await service.setDataset('EGAD1', 'released');
    const path = `htsget/${datatype}/${fileId}?referenceName=one`;
    await checked(path, await service.direct(path, visa));
  });
});

/** Give the archived body more than 200 MB of zeros, as copies of one part. They are never read. */
async function grow(fileId: string): Promise<void> {
  const [[path] = []] = await service.sql(`select archive_file_path from sda.files where stable_id = '${fileId}'`);
  const { s3 } = service;
  const target = { Bucket: service.connection.outputs.ArchiveBucketName, Key: path ?? '' };
  const part = 10 * 1024 * 1024;
  await s3.send(new PutObjectCommand({ ...target, Body: Buffer.alloc(part) }));
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand(target));
  const Parts = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const CopySource = `${target.Bucket}/${target.Key}`;
      const copy = { ...target, UploadId, PartNumber: index + 1, CopySource };
      const { CopyPartResult } = await s3.send(new UploadPartCopyCommand(copy));
      return { PartNumber: index + 1, ETag: CopyPartResult?.ETag };
    }),
  );
  await s3.send(new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts } }));
  await service.sql(`update sda.files set archive_file_size = ${20 * part} where stable_id = '${fileId}'`);
}

/**
 * Statuses that no call can provoke here. 429: the engine has no throttle. 502: the functions answer in the form that
 * the gateway knows. 504: takes the 29 seconds that the gateway waits. They are the gateway's own, from the template.
 */
test.each([
  ['THROTTLED', 429],
  ['INTEGRATION_FAILURE', 502],
  ['DEFAULT_5XX', 502],
  ['INTEGRATION_TIMEOUT', 504],
] as const)('the gateway’s own %s is what every route says of %i', async (type, status) => {
  const { all } = await stackTemplate('DataOutService');
  for (const [api, construct] of [
    ['delivery', 'ProxyApi'],
    ['direct', 'DataOutApi'],
  ] as const) {
    const ofApi = all('AWS::ApiGateway::GatewayResponse').filter(
      ({ Properties }) => show(Properties.RestApiId) === construct,
    );
    const gatewayResponses: RestApi['gatewayResponses'] = new Map(
      ofApi.map(({ Properties }) => [
        Properties.ResponseType,
        {
          status: Properties.StatusCode && Number(Properties.StatusCode),
          headers: Object.fromEntries(
            Object.entries(Properties.ResponseParameters).map(([name, value]) => [
              name.split('.').pop(),
              String(value).slice(1, -1),
            ]),
          ),
          template: Properties.ResponseTemplates['application/json'],
        },
      ]),
    );
    for (const operation of having(status).filter((one) => one.startsWith(`${api} `))) {
      const [, method = '', path = ''] = operation.split(' ');
      const reply = renderGatewayResponse(
        { ...gatewayError('DEFAULT_5XX', { status }), type },
        { gatewayResponses } as RestApi,
        'r1',
      );
      const body = method === 'HEAD' ? '' : reply.body;
      await apis[api].check({ method, path, status: reply.status, headers: Object.entries(reply.headers), body });
    }
  }
});

/**
 * No call brings the export function to a 500: every failure of SQS is a 503. So the same code makes the answer here.
 */
test('an unforeseen error gets the 500 that the document describes for export', async () => {
  const { status, headers, body } = problemReply(new Error('unforeseen'), 'r1', directChallenge);
  await apis.delivery.check({ method: 'POST', path: '/export/fega', status, headers: Object.entries(headers), body });
});

test('the tests above met every 500 and 503 of every route', () => {
  for (const api of Object.values(apis)) {
    const unseen = api.statuses.filter((status) => / (500|503)$/.test(status) && !api.seen.has(status));
    expect(unseen).toEqual([]);
  }
});
