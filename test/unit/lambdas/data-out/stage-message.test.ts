import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type QueueHandlerOptions, queueHandler } from '../../../../lambdas/shared/queue.ts';
import { unavailable } from '../../../../lib/errors.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { ExportWorld, vector, vectorKey } from '../../../helpers/export-world.ts';
import { lambdaContext, metricsOf, sqsEvent, sqsRecord } from '../../../helpers/sqs-event.ts';
import { stageFileEnvironment } from '../../../helpers/stage-file-environment.ts';

const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';
const recipient = 'ab'.repeat(32);
const fileExport = (fileId: string) =>
  JSON.stringify({
    requestId,
    requestedAt: '2026-11-21T09:59:00.123Z',
    fileId,
    datasetId: 'EGAD1',
    recipient,
    publicKey: Buffer.from(vectorKey('bob').publicKey).toString('base64'),
  });

let stageMessages: typeof import('../../../../lambdas/data-out/stage-file.ts').stageMessages;
beforeAll(async () => {
  for (const [name, value] of Object.entries(stageFileEnvironment)) vi.stubEnv(name, value);
  ({ stageMessages } = await import('../../../../lambdas/data-out/stage-file.ts'));
});
afterAll(() => {
  vi.unstubAllEnvs();
});

let world: ExportWorld;
let log: ReturnType<typeof captureOutput>;
beforeEach(() => {
  log = captureOutput();
  world = new ExportWorld();
  world.catalogue.addDataset('EGAD1', { released: true, fileIds: ['F1', 'F2'] });
  world.addFile('F1', vector('split/body.bin'));
  world.addFile('F2', vector('split/body.bin'));
});
afterEach(() => log.restore());

function deliver(
  records: readonly { body: string; received?: number }[],
  remainingMs?: number,
  queues: QueueHandlerOptions['queues'] = [{ url: 'https://sqs.example/1/q' }],
) {
  const handler = queueHandler({
    sqs: { send: () => Promise.resolve({}) },
    queues,
    retryDelaysSeconds: '10',
    stage: 'stage',
    handle: stageMessages(world.staging),
  });
  const event = sqsEvent(...records.map((record, index) => sqsRecord({ ...record, messageId: `m${index}` })));
  return handler(event, lambdaContext(remainingMs));
}

test('the last receive of the queue that a message came from gives its file up', async () => {
  const queues: QueueHandlerOptions['queues'] = [
    { url: 'https://sqs.example/123456789012/other-queue', receives: 1 },
    { url: 'https://sqs.example/123456789012/queue', receives: 5 },
  ];
  const events = async (received: number) => {
    world.calls.failAt(0, 'before', unavailable('down'));
    await deliver([{ body: fileExport('F1'), received }], undefined, queues);
    return world.rows.map(({ event, reason }) => [event, reason]);
  };
  expect(await events(4)).toEqual([]);
  expect(metricsOf(log.documents())).not.toContainEqual(expect.objectContaining({ FileGivenUp: 1 }));
  expect(await events(5)).toEqual([['given_up', 'temporarily_unavailable']]);
  expect(metricsOf(log.documents())).toContainEqual({ FileGivenUp: 1, reason: 'temporarily_unavailable' });
});

test('staged: the container, one audit row, metrics and log line', async () => {
  expect(await deliver([{ body: fileExport('F1') }])).toEqual({ batchItemFailures: [] });
  expect([...world.outbox.objects.keys()]).toEqual([`${recipient}/F1-F1.bin.c4gh`]);
  expect(world.rows).toEqual([expect.objectContaining({ requestId, event: 'staged', fileId: 'F1', bytes: 66_181 })]);
  expect(metricsOf(log.documents())).toEqual([{ FileStaged: 1, BytesStaged: 66_181, SecondsToStaged: 59.877 }]);
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ level: 'INFO', message: 'staged', requestId, fileId: 'F1', bytes: 66_181 }),
  );
});

test('delivered again: nothing is written or counted a second time', async () => {
  await deliver([{ body: fileExport('F1') }]);
  await deliver([{ body: fileExport('F1'), received: 2 }]);
  expect(world.outbox.writes).toBe(1);
  expect(metricsOf(log.documents())).toEqual([{ FileStaged: 1, BytesStaged: 66_181, SecondsToStaged: 59.877 }]);
});

test('only a redelivered message looks for what a dead invocation left', async () => {
  for (const fileId of ['F1', 'F2']) world.addFile(fileId, Buffer.alloc(9 * 1024 * 1024));
  await deliver([{ body: fileExport('F1') }]);
  expect(world.calls.names).not.toContain('outbox.abortUploads');
  await deliver([{ body: fileExport('F2'), received: 2 }]);
  expect(world.calls.names).toContain('outbox.abortUploads');
});

test('a dataset that was withdrawn: rejected, the message is gone', async () => {
  world.catalogue.setReleased('EGAD1', false);
  expect(await deliver([{ body: fileExport('F1') }])).toEqual({ batchItemFailures: [] });
  expect(metricsOf(log.documents())).toEqual([{ FileRejected: 1, reason: 'not_released' }]);
  expect(world.rows).toEqual([expect.objectContaining({ event: 'rejected', fileId: 'F1', reason: 'not_released' })]);
});

test('a damaged file fails and is counted, the other one is staged', async () => {
  world.archive.set('bodies/F1', vector('split/body.bin').subarray(1));
  expect(await deliver([{ body: fileExport('F1') }, { body: fileExport('F2') }])).toEqual({
    batchItemFailures: [{ itemIdentifier: 'm0' }],
  });
  expect(log.documents()).toContainEqual(
    expect.objectContaining({
      message: 'message failed',
      requestId,
      fileId: 'F1',
      code: 'archive_damaged',
      detail: 'file F1: the catalogue says 66057 bytes of body, the archive has 66056',
    }),
  );
  expect(Object.assign({}, ...metricsOf(log.documents()))).toEqual({
    ArchiveDamaged: 1,
    MessageFailed: 1,
    FileStaged: 1,
    BytesStaged: 66_181,
    SecondsToStaged: 59.877,
    stage: 'stage',
  });
});

test('a body in a bucket that the settings do not name fails with the file and the place, and is counted', async () => {
  const file = world.catalogue.files.get('F1')!;
  world.catalogue.files.set('F1', { ...file, archiveLocation: 'https://s3.example/elsewhere' });
  expect(await deliver([{ body: fileExport('F1') }])).toEqual({ batchItemFailures: [{ itemIdentifier: 'm0' }] });
  expect(log.documents()).toContainEqual(
    expect.objectContaining({
      message: 'message failed',
      code: 'archive_location_unknown',
      detail: 'file F1: the archive location "https://s3.example/elsewhere" names no bucket of the settings',
    }),
  );
  expect(metricsOf(log.documents())).toEqual([{ MessageFailed: 1, stage: 'stage' }, { ArchiveDamaged: 1 }]);
});

test('near the time limit the message is put back untouched', async () => {
  expect(await deliver([{ body: fileExport('F1') }], 15_000)).toEqual({
    batchItemFailures: [{ itemIdentifier: 'm0' }],
  });
  expect(world.calls.names).toEqual([]);
});

test('no key of archive, file or recipient is in the log', async () => {
  world.archiveKeys = [vectorKey('carol')];
  await deliver([{ body: fileExport('F1') }, { body: '{"publicKey":"x"}' }]);
  for (const secret of [vectorKey('carol').privateKey, vectorKey('bob').publicKey]) {
    for (const encoding of ['hex', 'base64'] as const) {
      expect(log.text()).not.toContain(Buffer.from(secret).toString(encoding));
    }
  }
});

test('a message with a time in the future is as old as its place in the queue', async () => {
  const body = JSON.stringify({ ...JSON.parse(fileExport('F1')), requestedAt: '2099-01-01T00:00:00.000Z' });
  await deliver([{ body }]);
  const [staged] = world.outbox.objects.values();
  // The record's SentTimestamp.
  expect(staged?.metadata['requested-at']).toBe('2026-11-21T09:59:00.123Z');
});
