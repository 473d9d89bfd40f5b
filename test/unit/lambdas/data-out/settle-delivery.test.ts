import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { oneByOne, queueHandler } from '../../../../lambdas/shared/queue.ts';
import { unavailable } from '../../../../lib/errors.ts';
import type { OperatorEvent } from '../../../../lib/service/stores/events.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { ExportPipeline } from '../../../helpers/export-pipeline.ts';
import { lambdaContext, metricsOf, sqsEvent, sqsRecord } from '../../../helpers/sqs-event.ts';
import { stageFileEnvironment } from '../../../helpers/stage-file-environment.ts';

const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';

let settleMessage: typeof import('../../../../lambdas/data-out/settle-delivery.ts').settleMessage;
beforeAll(async () => {
  for (const [name, value] of Object.entries({ ...stageFileEnvironment, SERVICE_ID: 'org.example.data-out' }))
    vi.stubEnv(name, value);
  ({ settleMessage } = await import('../../../../lambdas/data-out/settle-delivery.ts'));
});
afterAll(() => {
  vi.unstubAllEnvs();
});

let world: ExportPipeline;
let log: ReturnType<typeof captureOutput>;
let published: OperatorEvent[];
beforeEach(async () => {
  world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['EGAF1', 'EGAF2']);
  world.request(undefined, { id: requestId, at: new Date('2026-11-21T09:00:00Z') });
  world.archive.delete('bodies/EGAF2');
  await world.consume();
  await world.stage();
  world.now = new Date('2026-11-21T10:00:00.900Z');
  log = captureOutput();
  published = [];
});
afterEach(() => log.restore());

function deliver(body = JSON.stringify({ requestId })) {
  const publish = async (event: OperatorEvent) => {
    published.push(event);
  };
  const handler = queueHandler({
    sqs: { send: () => Promise.resolve({}) },
    stage: 'settle',
    handle: oneByOne(settleMessage(world.settling, { publish })),
  });
  return handler(sqsEvent(sqsRecord({ body, messageId: 'm1' })), lambdaContext());
}

test('settled: an event, and one log line without names or keys of files', async () => {
  expect(await deliver()).toEqual({ batchItemFailures: [] });
  expect(published).toEqual([{ requestId, state: 'incomplete' }]);
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ message: 'settled', requestId, state: 'incomplete', staged: 1, missing: 1 }),
  );
  expect(log.text()).not.toMatch(/EGAF/);
  expect(metricsOf(log.documents())).toEqual([
    { DeliverySettled: 1, state: 'incomplete' },
    { SecondsToSettled: 3600.9 },
  ]);
});

test('settled again: without seconds, because its receipt may change weeks later', async () => {
  await world.database.sql('update data_out.requests set revision = 2, settled_revision = 1');
  await deliver();
  expect(metricsOf(log.documents())).toEqual([{ DeliverySettled: 1, state: 'incomplete' }]);
});

test('a failure names the request, and brings the message back', async () => {
  world.calls.failAt(0, 'before', unavailable('the database sleeps'));
  expect(await deliver()).toEqual({ batchItemFailures: [{ itemIdentifier: 'm1' }] });
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ message: 'message failed', requestId, code: 'temporarily_unavailable' }),
  );
});

test('a request that is not settled is neither counted nor announced', async () => {
  await world.database.sql("update data_out.request_files set state = 'sent'");
  expect(await deliver()).toEqual({ batchItemFailures: [] });
  expect(log.documents()).toEqual([expect.objectContaining({ message: 'not_settled', requestId })]);
  expect(published).toEqual([]);
});

test.each(['', '{}', '{"requestId":"x"}', `{"requestId":"${requestId}","more":1}`])(
  'the message %j fails, so that it ends among the dead letters',
  async (body) => {
    expect(await deliver(body)).toEqual({ batchItemFailures: [{ itemIdentifier: 'm1' }] });
    expect(metricsOf(log.documents())).toEqual([{ MessageFailed: 1, stage: 'settle' }]);
  },
);
