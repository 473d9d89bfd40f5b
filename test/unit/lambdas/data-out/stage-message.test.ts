import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { queueHandler } from '../../../../lambdas/shared/queue.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { ExportPipeline } from '../../../helpers/export-pipeline.ts';
import { vectorKey } from '../../../helpers/export-world.ts';
import { lambdaContext, metricsOf, sqsEvent, sqsRecord } from '../../../helpers/sqs-event.ts';
import { stageFileEnvironment } from '../../../helpers/stage-file-environment.ts';

const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';

let stageMessages: typeof import('../../../../lambdas/data-out/stage-file.ts').stageMessages;
beforeAll(async () => {
  for (const [name, value] of Object.entries(stageFileEnvironment)) vi.stubEnv(name, value);
  ({ stageMessages } = await import('../../../../lambdas/data-out/stage-file.ts'));
});
afterAll(() => {
  vi.unstubAllEnvs();
});

let world: ExportPipeline;
let log: ReturnType<typeof captureOutput>;
beforeEach(async () => {
  world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['F1', 'F2']);
  world.request(undefined, { id: requestId, at: new Date('2026-11-21T09:59:00.123Z') });
  await world.consume();
  world.now = new Date('2026-11-21T10:00:00Z');
  log = captureOutput();
});
afterEach(() => log.restore());

function deliver(fileIds: readonly string[], remainingMs?: number) {
  const handler = queueHandler({
    sqs: { send: () => Promise.resolve({}) },
    stage: 'stage',
    handle: stageMessages(world.staging),
  });
  const records = fileIds.map((fileId) =>
    sqsRecord({ body: JSON.stringify({ requestId, fileId }), messageId: `message of ${fileId}` }),
  );
  return handler(sqsEvent(...records), lambdaContext(remainingMs));
}

test('staged: one log line and metrics, and nothing is counted a second time', async () => {
  for (const _ of ['delivered', 'delivered again']) {
    expect(await deliver(['F1'])).toEqual({ batchItemFailures: [] });
    expect(metricsOf(log.documents())).toEqual([{ FileStaged: 1, BytesStaged: 224, SecondsToStaged: 59.877 }]);
  }
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ level: 'INFO', message: 'staged', requestId, fileId: 'F1', bytes: 224 }),
  );
  expect(log.documents()).toContainEqual(expect.objectContaining({ message: 'ended', requestId, fileId: 'F1' }));
});

test('a dataset that was withdrawn: rejected, the message is gone', async () => {
  await world.event('EGAD1', 'deprecated');
  expect(await deliver(['F1'])).toEqual({ batchItemFailures: [] });
  expect(metricsOf(log.documents())).toEqual([{ FileRejected: 1, reason: 'not_released' }]);
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ message: 'export rejected', requestId, fileId: 'F1', reason: 'not_released' }),
  );
});

test('a file that is damaged is counted and named with the damage, and the message is gone', async () => {
  const [reason, detail] = ['archive_damaged', 'has no body'];
  world.archive.delete('bodies/F1');
  expect(await deliver(['F1', 'F2'])).toEqual({ batchItemFailures: [] });
  const text = expect.stringContaining(detail);
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ level: 'ERROR', message: 'given_up', requestId, fileId: 'F1', reason, detail: text }),
  );
  expect(Object.assign({}, ...metricsOf(log.documents()))).toEqual({
    ...{ ArchiveDamaged: 1, FileGivenUp: 1, reason },
    ...{ FileStaged: 1, BytesStaged: 224, SecondsToStaged: 59.877 },
  });
}); // biome-ignore format: one table

test('a file that fails comes back alone, and its log line has the error', async () => {
  vi.spyOn(world.archive, 'readWhole').mockRejectedValueOnce(new TypeError('a mistake'));
  expect(await deliver(['F1', 'F2'])).toEqual({ batchItemFailures: [{ itemIdentifier: 'message of F1' }] });
  const named = { message: 'message failed', requestId, fileId: 'F1', code: 'internal_error', detail: 'a mistake' };
  expect(log.documents()).toContainEqual(expect.objectContaining(named));
});

test('near the time limit the messages are put back', async () => {
  const both = ['F1', 'F2'].map((id) => ({ itemIdentifier: `message of ${id}` }));
  expect(await deliver(['F1', 'F2'], 15_000)).toEqual({ batchItemFailures: both });
});

test('no key of archive or recipient is in the log', async () => {
  await world.database.sql("update sda.files set header = '00' where stable_id = 'F1'");
  await deliver(['F1', 'F2']);
  for (const secret of [vectorKey('alice').privateKey, vectorKey('bob').publicKey]) {
    for (const encoding of ['hex', 'base64'] as const)
      expect(log.text()).not.toContain(Buffer.from(secret).toString(encoding));
  }
});
