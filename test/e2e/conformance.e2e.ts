import { afterAll, beforeAll, expect, test } from 'vitest';
import { outboxPrefix } from '../../lib/contract/outbox-key.ts';
import { runCheck } from '../../lib/ops/smoke/check.ts';
import { conformanceChecks } from '../../lib/ops/smoke/conformance/operations.ts';
import type { Run } from '../../lib/ops/smoke/run.ts';
import type { WireReply, WireRequest } from '../../lib/ops/smoke/wire.ts';
import { conformanceRun } from '../helpers/conformance-run.ts';
import { OpenApi } from '../helpers/openapi.ts';
import { Service } from '../helpers/service.ts';

/** The conformance suite on the local engine. What only a look behind the APIs shows is at the end. */

const apis = { delivery: OpenApi.read('delivery'), direct: OpenApi.read('direct') };
/** Without the routes that a setting adds. */
const described = new Set(Object.entries(apis).flatMap(([api, of]) => of.operations.map((name) => `${api} ${name}`)));
let service: Service;
let run: Run;
let passed: Set<string>;
const replies: (readonly [operation: string, WireRequest, WireReply])[] = [];
/** S3 keys that the function of the outbox asked for. */
const keys: string[] = [];
let publishedBefore: number;

beforeAll(async () => {
  service = await Service.shared();
  ({ run, passed } = await conformanceRun(service, (...reply) => replies.push(reply)));
  service.engine.traffic.observe(({ caller, service: name, key }) => {
    if (caller === 'stream' && name === 's3' && key !== undefined) keys.push(key);
  });
  publishedBefore = service.calls('export sqs SendMessage');
});
afterAll(async () => {
  await run?.[Symbol.asyncDispose]();
  await service?.stop();
});

test.each(conformanceChecks.map((check) => [check.id, check] as const))('%s', async (id, check) => {
  const { result, found } = await runCheck(check, run, passed);
  expect([id, result, found]).toEqual([id, 'passed', found]);
  expect(found).not.toContain('not shown');
});

/** Of the caller's own containers. */
const prefix = () => outboxPrefix({ iss: service.connection.issuer.iss, sub: run.ids.username });
const ofOperations = () =>
  replies.filter(([operation, { method }]) => described.has(operation) && operation.includes(` ${method} `));

test('each reply has the form that docs/openapi describes', async () => {
  for (const [operation, { method, path }, { status, headers, bytes }] of ofOperations()) {
    const [api] = operation.split(' ') as ['delivery' | 'direct'];
    // An id with a slash, and a path that the row wrote itself, is still of the operation.
    const [, , template = ''] = operation.split(' ');
    const entries = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
    await apis[api].check({ method, path: template, status, headers: entries, body: bytes }).catch((error: Error) => {
      throw new Error(`/${path.slice(0, 100)}: ${error.message}`);
    });
  }
});

test('the suite shows every status of docs/openapi but those that a healthy service of small files does not give', () => {
  const unseen = Object.entries(apis).flatMap(([api, { statuses, seen }]) =>
    statuses.filter((status) => !seen.has(status)).map((status) => `${api} ${status}`),
  );
  // test/resilience/shared/openapi.resilience.ts shows the first two kinds, and test/resilience/shared/htsget.resilience.ts the third.
  const shownElsewhere =
    /GET \/(files\/.+|htsget\/.+\/\{id\}) 413$|(429|500|502|503|504)$|htsget\/variants\/\{id\} (200|404)$/;
  expect(unseen.filter((status) => !shownElsewhere.test(status))).toEqual([]);
});

test('each accepted export is one message, and a refused one is none', () => {
  const accepted = replies.filter(
    ([operation, , { status }]) => operation === 'delivery POST /export/{archive_kind}' && status === 200,
  );
  expect(accepted.length).toBeGreaterThan(5);
  expect(service.calls('export sqs SendMessage') - publishedBefore).toBe(accepted.length);
});

test('no name leads to a key outside of the part of the caller', () => {
  expect(keys.length).toBeGreaterThan(10);
  expect(keys.filter((key) => !new RegExp(`^${prefix()}/[A-Za-z0-9._-]+$`).test(key))).toEqual([]);
});

test('the log says who listed and fetched what, and has no secret of any request', () => {
  const lines = service.logs.map(({ line }) => line);
  for (const message of ['listed', 'stream granted']) {
    const line = lines.find((each) => each.includes(`"message":"${message}"`)) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ recipients: [prefix()] });
  }
  const { visa, access } = run;
  for (const secret of [
    visa.split('.')[2] ?? '',
    access.admin.password,
    access.archiveUser.password,
    'X-Amz-Signature',
  ]) {
    expect(lines.filter((line) => line.includes(secret))).toEqual([]);
  }
});

test('the request id of a refusal is in the log, whoever refused', () => {
  const refused = ['delivery POST /export/{archive_kind}', 'delivery GET /', 'direct GET /files/{fileId}'].map(
    (operation) => replies.find(([each, , { status }]) => each === operation && status >= 400),
  );
  for (const reply of refused) {
    const id = String(reply?.[2].headers['x-amzn-requestid']);
    expect([reply?.[0], service.logs.some(({ line }) => line.includes(id))]).toEqual([reply?.[0], true]);
  }
});
