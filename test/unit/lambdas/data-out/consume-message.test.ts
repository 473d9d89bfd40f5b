import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { oneByOne, queueHandler } from '../../../../lambdas/shared/queue.ts';
import { unavailable } from '../../../../lib/errors.ts';
import type { Events, OperatorEvent } from '../../../../lib/service/stores/events.ts';
import { mockBundledJson, unmockBundledJson } from '../../../helpers/bundled-json.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { ExportPipeline } from '../../../helpers/export-pipeline.ts';
import { vectorKey } from '../../../helpers/export-world.ts';
import { lambdaContext, metricsOf, sqsEvent, sqsRecord } from '../../../helpers/sqs-event.ts';
import { stageFileEnvironment } from '../../../helpers/stage-file-environment.ts';

const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';
const publicKey = Buffer.from(vectorKey('bob').publicKey).toString('base64');
const wanted = { jwtToken: 'visa', publicKey, datasetId: 'EGAD1' };
/** What the function itself starts with. These tests give `consumeMessage` their own world. */
const variables = { ...stageFileEnvironment, EXPORT_REQUESTS_QUEUE_URL: 'https://sqs.example/1/export-requests' };

let consumeMessage: typeof import('../../../../lambdas/data-out/consume-export.ts').consumeMessage;
beforeAll(async () => {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  mockBundledJson(() => []);
  ({ consumeMessage } = await import('../../../../lambdas/data-out/consume-export.ts'));
});
afterAll(() => {
  unmockBundledJson();
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

const recording: Events = {
  publish: async ({ requestId: id, state }) => {
    published.push({ requestId: id, state });
  },
};

function deliver(body: unknown, events = recording) {
  const handler = queueHandler({
    sqs: { send: () => Promise.resolve({}) },
    stage: 'consume',
    handle: oneByOne(consumeMessage(world.consuming, events)),
  });
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return handler(sqsEvent(sqsRecord({ body: text, attributes: { requestId, archiveKind: 'fega' } })), lambdaContext());
}

test('accepted: messages, event, metric and log line', async () => {
  expect(await deliver(wanted)).toEqual({ batchItemFailures: [] });
  expect(published).toEqual([{ requestId, state: 'accepted' }]);
  expect(world.sentFiles).toEqual(['F1', 'F2'].map((fileId) => ({ requestId, fileId })));
  expect(metricsOf(log.documents())).toEqual([{ ExportAccepted: 1 }]);
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ level: 'INFO', message: 'export accepted', requestId, datasetId: 'EGAD1', files: 2 }),
  );
});

test.each([
  ['malformed_message', '{"jwtToken":"visa","publicKey":'],
  ['visa_malformed_token', { ...wanted, jwtToken: 'bad-visa' }],
  ['unknown_dataset', { ...wanted, datasetId: 'EGAD9' }],
])('rejected with %s: message gone, event, metric with the reason, no secret in the log', async (reason, body) => {
  expect(await deliver(body)).toEqual({ batchItemFailures: [] });
  expect(world.sentFiles).toEqual([]);
  expect(published).toEqual([{ requestId, state: 'rejected' }]);
  expect(metricsOf(log.documents())).toEqual([{ ExportRejected: 1, reason }]);
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ level: 'WARN', message: 'export rejected', requestId, reason }),
  );
  expect(log.text()).not.toContain('bad-visa');
  expect(log.text()).not.toContain(publicKey);
});

test('failed: the message comes back, nothing is on record or announced', async () => {
  world.calls.failAt(0, 'before', unavailable('the database is resuming'));
  expect(await deliver(wanted)).toEqual({
    batchItemFailures: [{ itemIdentifier: '99999999-9999-4999-8999-999999999999' }],
  });
  expect([await world.audit(), published]).toEqual([[], []]);
  expect(metricsOf(log.documents())).toEqual([{ MessageFailed: 1, stage: 'consume' }]);
});

test('an event that is lost changes nothing for the export', async () => {
  expect(await deliver(wanted, { publish: () => Promise.reject(new Error('no')) })).toEqual({ batchItemFailures: [] });
  expect(world.sentFiles).toHaveLength(2);
  expect(metricsOf(log.documents())).toEqual([{ ExportAccepted: 1, EventLost: 1 }]);
});
