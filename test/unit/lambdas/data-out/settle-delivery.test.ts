import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { oneByOne, queueHandler } from '../../../../lambdas/shared/queue.ts';
import { unavailable } from '../../../../lib/errors.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { endedFile, fannedOutRequest, ReceiptWorld, requestId, stagedFile } from '../../../helpers/receipt-world.ts';
import { lambdaContext, metricsOf, sqsEvent, sqsRecord } from '../../../helpers/sqs-event.ts';

let module: typeof import('../../../../lambdas/data-out/settle-delivery.ts');
beforeAll(async () => {
  for (const [name, value] of Object.entries({
    AWS_REGION: 'eu-north-1',
    OUTBOX_BUCKET: 'outbox',
    SERVICE_ID: 'org.example.data-out',
    RECEIPT_SIGNING_KEY_ARN: 'arn:aws:kms:eu-north-1:123456789012:key/1',
    DATABASE_CLUSTER_ARN: 'arn:aws:rds:eu-north-1:123456789012:cluster:c',
    DATABASE_SECRET_ARN: 'arn:aws:secretsmanager:eu-north-1:123456789012:secret:db',
    DATABASE_NAME: 'sda',
    DELIVERIES_QUEUE_URL: 'https://sqs.example/123456789012/deliveries',
    RETRY_DELAYS_SECONDS: '10',
  })) {
    vi.stubEnv(name, value);
  }
  module = await import('../../../../lambdas/data-out/settle-delivery.ts');
});
afterAll(() => {
  vi.unstubAllEnvs();
});

let world: ReceiptWorld;
let log: ReturnType<typeof captureOutput>;
beforeEach(() => {
  log = captureOutput();
  world = new ReceiptWorld();
  world.log.rows = [stagedFile('EGAF1'), endedFile('EGAF2', 'given_up')];
});
afterEach(() => log.restore());

async function deliver(body: string) {
  const handler = queueHandler({
    sqs: { send: () => Promise.resolve({}) },
    queues: [{ url: 'https://sqs.example/1/queue' }],
    retryDelaysSeconds: '10',
    stage: 'settle',
    handle: oneByOne(module.finalizeMessage(world.dependencies())),
  });
  return handler(sqsEvent(sqsRecord({ body, messageId: 'm1' })), lambdaContext());
}

test('a settled request is one log line, without names or keys of its files, and counts by its state', async () => {
  expect(await deliver(JSON.stringify({ requestId }))).toEqual({ batchItemFailures: [] });
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ message: 'settled', requestId, state: 'incomplete', staged: 1, missing: 1 }),
  );
  expect(JSON.stringify(log.documents())).not.toMatch(/EGAF/);
  expect(metricsOf(log.documents())).toEqual([
    { DeliverySettled: 1, state: 'incomplete' },
    { SecondsToSettled: 3600.9 },
  ]);
});

test('a request that is settled again has no seconds: its receipt may change weeks later', async () => {
  world.log.request = { ...fannedOutRequest(), receiptRevision: 2, finalizedRevision: 1 };
  await deliver(JSON.stringify({ requestId }));
  expect(metricsOf(log.documents())).toEqual([{ DeliverySettled: 1, state: 'incomplete' }]);
});

test('a failure names the request, and brings the message back', async () => {
  world.calls.failAt(0, 'before', unavailable('the database sleeps'));
  expect(await deliver(JSON.stringify({ requestId }))).toEqual({
    batchItemFailures: [{ itemIdentifier: 'm1' }],
  });
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ message: 'message failed', requestId, code: 'temporarily_unavailable' }),
  );
});

test('a request that is not settled is left alone', async () => {
  world.log.request = undefined;
  expect(await deliver(JSON.stringify({ requestId }))).toEqual({ batchItemFailures: [] });
  expect(log.documents()).toContainEqual(expect.objectContaining({ message: 'not_settled', requestId }));
});

test.each(['', '{}', '{"requestId":"x"}', `{"requestId":"${requestId}","more":1}`])(
  'the message %j fails, so that it ends among the dead letters',
  async (body) => {
    expect(await deliver(body)).toEqual({ batchItemFailures: [{ itemIdentifier: 'm1' }] });
    expect(metricsOf(log.documents())).toEqual([{ MessageFailed: 1, stage: 'settle' }]);
    expect(world.calls.names).toEqual([]);
  },
);
