import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { oneByOne, queueHandler } from '../../../../lambdas/shared/queue.ts';
import type { OperatorEvent } from '../../../../lib/service/stores/events.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { ExportPipeline } from '../../../helpers/export-pipeline.ts';
import { lambdaContext, metricsOf, sqsEvent, sqsRecord } from '../../../helpers/sqs-event.ts';
import { stageFileEnvironment } from '../../../helpers/stage-file-environment.ts';

const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';

let recordMessage: typeof import('../../../../lambdas/data-out/record-dead-letters.ts').recordMessage;
beforeAll(async () => {
  for (const [name, value] of Object.entries(stageFileEnvironment)) vi.stubEnv(name, value);
  ({ recordMessage } = await import('../../../../lambdas/data-out/record-dead-letters.ts'));
});
afterAll(() => {
  vi.unstubAllEnvs();
});

let world: ExportPipeline;
let log: ReturnType<typeof captureOutput>;
let published: OperatorEvent[];
beforeEach(async () => {
  world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['F1', 'F2']);
  log = captureOutput();
  published = [];
});
afterEach(() => log.restore());

function deliver(body: unknown) {
  const publish = async (event: OperatorEvent) => {
    published.push(event);
  };
  const handler = queueHandler({
    sqs: { send: () => Promise.reject(new Error('it sets no visibility timeout')) },
    stage: 'record',
    handle: oneByOne(recordMessage(world.removing, { publish })),
  });
  const record = sqsRecord({ body: JSON.stringify(body), messageId: 'm', attributes: { requestId } });
  return handler(sqsEvent(record), lambdaContext());
}

test('a file: given up, counted by its reason and logged, and the message is gone', async () => {
  world.request(undefined, { id: requestId });
  await world.consume();
  expect(await deliver({ requestId, fileId: 'F1' })).toEqual({ batchItemFailures: [] });
  expect(await world.statesOf(requestId)).toEqual(['F1: given_up no_answer', 'F2: sent']);
  expect(metricsOf(log.documents())).toEqual([{ FileGivenUp: 1, reason: 'no_answer' }]);
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ level: 'ERROR', message: 'given up', requestId, isRejected: false }),
  );
  expect(published).toEqual([]);
});

test('a request that was never decided on: rejected, counted and announced, without its visa in the log', async () => {
  expect(await deliver({ jwtToken: 'secret-visa', publicKey: 'key', datasetId: 'EGAD1' })).toEqual({
    batchItemFailures: [],
  });
  expect(await world.requestRow(requestId)).toMatchObject({ state: 'rejected', reason: 'failed' });
  expect(metricsOf(log.documents())).toEqual([{ ExportRejected: 1, reason: 'failed' }]);
  expect(published).toEqual([{ requestId, state: 'rejected' }]);
  expect(log.text()).not.toContain('secret-visa');
});

test('what cannot be read stays', async () => {
  expect(await deliver({ requestId, more: 1 })).toEqual({ batchItemFailures: [{ itemIdentifier: 'm' }] });
  expect(metricsOf(log.documents())).toEqual([{ MessageFailed: 1, stage: 'record' }]);
});
