import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { oneByOne, queueHandler } from '../../../../lambdas/shared/queue.ts';
import { unavailable } from '../../../../lib/errors.ts';
import type { Events, OperatorEvent } from '../../../../lib/service/export/ports.ts';
import { mockBundledJson, unmockBundledJson } from '../../../helpers/bundled-json.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';
import { vectorKey } from '../../../helpers/export-world.ts';
import { LedgerWorld } from '../../../helpers/ledger-world.ts';
import { lambdaContext, metricsOf, sqsEvent, sqsRecord } from '../../../helpers/sqs-event.ts';

const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';
const publicKey = Buffer.from(vectorKey('bob').publicKey).toString('base64');
const subject = { iss: 'https://issuer.example', sub: 'r1' };

/** What the function itself starts with. These tests give `consumeMessage` their own world. */
const variables = {
  AWS_REGION: 'eu-north-1',
  VISA_DENY_LIST_SECRET_ARN: 'arn:aws:secretsmanager:eu-north-1:123456789012:secret:denied',
  DATABASE_CLUSTER_ARN: 'arn:aws:rds:eu-north-1:123456789012:cluster:c',
  DATABASE_SECRET_ARN: 'arn:aws:secretsmanager:eu-north-1:123456789012:secret:db',
  DATABASE_NAME: 'sda',
  EXPORT_REQUESTS_QUEUE_URL: 'https://sqs.example/123456789012/export-requests',
  FILE_EXPORTS_QUEUE_URL: 'https://sqs.example/123456789012/file-exports',
  SMALL_FILE_EXPORTS_QUEUE_URL: 'https://sqs.example/123456789012/small-file-exports',
  DELIVERIES_QUEUE_URL: 'https://sqs.example/123456789012/deliveries',
  EXPORT_REQUESTS_RECEIVES: '5',
  FILES_IN_FLIGHT: '110',
  OUTBOX_BUCKET: 'outbox',
  RETRY_DELAYS_SECONDS: '10,60,300,900',
};

let consumeMessage: typeof import('../../../../lambdas/data-out/consume-export.ts').consumeMessage;
beforeAll(async () => {
  database = await TestDatabase.shared();
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  mockBundledJson(() => []);
  ({ consumeMessage } = await import('../../../../lambdas/data-out/consume-export.ts'));
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  unmockBundledJson();
  vi.unstubAllEnvs();
});

let database: TestDatabase;
let world: LedgerWorld;
let log: ReturnType<typeof captureOutput>;
beforeEach(async () => {
  world = await LedgerWorld.on(database);
  log = captureOutput();
  published = [];
  world.catalogue.addDataset('EGAD1', { released: true, fileIds: ['F1', 'F2'] });
  const expiresAt = new Date('2026-11-21T11:00:00Z');
  world.visas.set('good-visa', [{ subject, datasetId: 'EGAD1', expiresAt, dependsOn: [] }]);
});
afterEach(() => log.restore());

const wanted = { jwtToken: 'good-visa', publicKey, datasetId: 'EGAD1' };
let published: OperatorEvent[];
const recording: Events = {
  publish: async ({ requestId, state }) => {
    published.push({ requestId, state });
  },
};

function deliver(body: unknown, events = recording) {
  const handler = queueHandler({
    sqs: { send: () => Promise.resolve({}) },
    queues: [{ url: 'https://sqs.example/1/q', receives: 5 }],
    retryDelaysSeconds: '10',
    stage: 'consume',
    handle: oneByOne(consumeMessage(world.consuming, events)),
  });
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return handler(sqsEvent(sqsRecord({ body: text, attributes: { requestId, archiveKind: 'fega' } })), lambdaContext());
}

test('accepted: messages, one audit row, event, metric and log line', async () => {
  expect(await deliver(wanted)).toEqual({ batchItemFailures: [] });
  expect(published).toEqual([{ requestId, state: 'accepted' }]);
  expect(world.fileExports.sent.map(({ fileId, requestedAt }) => [fileId, requestedAt])).toEqual([
    ['F1', '2026-11-21T09:59:00.123Z'],
    ['F2', '2026-11-21T09:59:00.123Z'],
  ]);
  expect(await world.audit()).toEqual([expect.objectContaining({ requestId, event: 'accepted', archiveKind: 'fega' })]);
  expect(metricsOf(log.documents())).toEqual([{ ExportAccepted: 1 }]);
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ level: 'INFO', message: 'export accepted', requestId, datasetId: 'EGAD1', files: 2 }),
  );
});

test.each([
  ['malformed_message', '{"jwtToken":"good-visa","publicKey":'],
  ['visa_malformed_token', { ...wanted, jwtToken: 'bad-visa' }],
  ['unknown_dataset', { ...wanted, datasetId: 'EGAD9' }],
])('rejected with %s: message gone, row, event, metric with the reason, no secret in the log', async (reason, body) => {
  expect(await deliver(body)).toEqual({ batchItemFailures: [] });
  expect(world.fileExports.sent).toEqual([]);
  expect(published).toEqual([{ requestId, state: 'rejected' }]);
  expect(await world.audit()).toEqual([expect.objectContaining({ requestId, event: 'rejected', reason })]);
  expect(metricsOf(log.documents())).toEqual([{ ExportRejected: 1, reason }]);
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ level: 'WARN', message: 'export rejected', requestId, reason }),
  );
  expect(log.text()).not.toMatch(/(good|bad)-visa/);
  expect(log.text()).not.toContain(publicKey);
});

test('failed: the message comes back, nothing is on record or announced', async () => {
  world.calls.failAt(1, 'before', unavailable('the database is resuming'));
  expect(await deliver(wanted)).toEqual({
    batchItemFailures: [{ itemIdentifier: '99999999-9999-4999-8999-999999999999' }],
  });
  expect([await world.audit(), published]).toEqual([[], []]);
  expect(metricsOf(log.documents())).toEqual([{ MessageFailed: 1, stage: 'consume' }]);
});

test('an event that is lost changes nothing for the export', async () => {
  expect(await deliver(wanted, { publish: () => Promise.reject(new Error('no')) })).toEqual({ batchItemFailures: [] });
  expect(world.fileExports.sent).toHaveLength(2);
  expect(metricsOf(log.documents())).toEqual([{ ExportAccepted: 1, EventLost: 1 }]);
});
