import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { oneByOne, queueHandler } from '../../../../lambdas/shared/queue.ts';
import { unavailable } from '../../../../lib/errors.ts';
import type { Events, OperatorEvent } from '../../../../lib/service/stores/events.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { ExportPipeline } from '../../../helpers/export-pipeline.ts';
import { vectorKey } from '../../../helpers/export-world.ts';
import { functionEnvironment } from '../../../helpers/function-module.ts';
import { lambdaContext, metricsOf, sqsEvent, sqsRecord } from '../../../helpers/sqs-event.ts';
import { stageFileEnvironment } from '../../../helpers/stage-file-environment.ts';

/** What the functions of an export log, count and announce, and which messages come back. */

const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';
const publicKey = Buffer.from(vectorKey('bob').publicKey).toString('base64');
const wanted = { jwtToken: 'visa', publicKey, datasetId: 'EGAD1' };
/** What the functions start with. These tests give them their own world. */
const variables = {
  ...stageFileEnvironment,
  EXPORT_REQUESTS_QUEUE_URL: 'https://sqs.example/1/export-requests',
  SERVICE_ID: 'org.example.data-out',
  OUTBOX_EXPIRY_DAYS: '30',
  WITHDRAWAL: 'report',
};

type Handle = Parameters<typeof queueHandler>[0]['handle'];
async function loadFunctions() {
  const { consumeMessage } = await import('../../../../lambdas/export/consume-export.ts');
  const { stageMessages } = await import('../../../../lambdas/export/stage-file.ts');
  const { settleMessage } = await import('../../../../lambdas/export/settle-delivery.ts');
  const { recordMessage } = await import('../../../../lambdas/export/record-dead-letters.ts');
  const { withdraw } = await import('../../../../lambdas/export/withdraw.ts');
  return { consumeMessage, stageMessages, settleMessage, recordMessage, withdraw };
}
let functions: Awaited<ReturnType<typeof loadFunctions>>;
beforeAll(async () => {
  const restore = functionEnvironment(variables, () => []);
  functions = await loadFunctions().finally(restore);
});

let world: ExportPipeline;
let log: ReturnType<typeof captureOutput>;
let published: OperatorEvent[];
beforeEach(async () => {
  world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['EGAF1', 'EGAF2']);
  log = captureOutput();
  published = [];
});
afterEach(() => log.restore());

const recording: Events = {
  publish: async ({ requestId: id, state }) => {
    published.push({ requestId: id, state });
  },
};

type Stage = Parameters<typeof queueHandler>[0]['stage'];
function deliver(stage: Stage, handle: Handle, bodies: readonly unknown[], remainingMs?: number) {
  const handler = queueHandler({ sqs: { send: () => Promise.resolve({}) }, stage, handle });
  const attributes = { requestId, archiveKind: 'fega' };
  const records = bodies.map((body, index) =>
    sqsRecord({ body: typeof body === 'string' ? body : JSON.stringify(body), messageId: `m${index}`, attributes }),
  );
  return handler(sqsEvent(...records), lambdaContext(remainingMs));
}
const back = (...ids: readonly string[]) => ({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) });

describe('a request', () => {
  const consume = (body: unknown, events = recording) =>
    deliver('consume', oneByOne(functions.consumeMessage(world.consuming, events)), [body]);

  test('accepted: messages, event, metric and log line', async () => {
    expect(await consume(wanted)).toEqual(back());
    expect(published).toEqual([{ requestId, state: 'accepted' }]);
    expect(world.sentFiles).toEqual(['EGAF1', 'EGAF2'].map((fileId) => ({ requestId, fileId })));
    expect(metricsOf(log.documents())).toEqual([{ ExportAccepted: 1 }]);
    expect(log.documents()).toContainEqual(
      expect.objectContaining({ level: 'INFO', message: 'export accepted', requestId, datasetId: 'EGAD1', files: 2 }),
    );
  });

  test.each([
    ['malformed_message', '{"jwtToken":"bad-visa","publicKey":'],
    ['visa_malformed_token', { ...wanted, jwtToken: 'bad-visa' }],
  ])('rejected with %s: message gone, event, metric with the reason, no secret in the log', async (reason, body) => {
    expect(await consume(body)).toEqual(back());
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
    expect(await consume(wanted)).toEqual(back('m0'));
    expect([await world.audit(), published]).toEqual([[], []]);
    expect(metricsOf(log.documents())).toEqual([{ MessageFailed: 1, stage: 'consume' }]);
  });
});

describe('a file', () => {
  beforeEach(async () => {
    world.request(undefined, { id: requestId, at: new Date('2026-11-21T09:59:00.123Z') });
    await world.consume();
    world.now = new Date('2026-11-21T10:00:00Z');
  });
  const stage = (fileIds: readonly string[], remainingMs?: number) =>
    deliver(
      'stage',
      functions.stageMessages(world.staging),
      fileIds.map((fileId) => ({ requestId, fileId })),
      remainingMs,
    );

  test('staged: one log line and metrics, and nothing is counted a second time', async () => {
    for (const _ of ['delivered', 'delivered again']) {
      expect(await stage(['EGAF1'])).toEqual(back());
      expect(metricsOf(log.documents())).toEqual([{ FileStaged: 1, BytesStaged: 224, SecondsToStaged: 59.877 }]);
    }
    expect(log.documents()).toContainEqual(
      expect.objectContaining({ level: 'INFO', message: 'staged', requestId, fileId: 'EGAF1', bytes: 224 }),
    );
    expect(log.documents()).toContainEqual(expect.objectContaining({ message: 'ended', requestId, fileId: 'EGAF1' }));
  });

  test('that is damaged is counted and named with the damage, and the message is gone', async () => {
    world.archive.delete('bodies/EGAF1');
    expect(await stage(['EGAF1', 'EGAF2'])).toEqual(back());
    const reason = 'archive_damaged';
    const named = { message: 'given_up', requestId, fileId: 'EGAF1', reason };
    expect(log.documents()).toContainEqual(
      expect.objectContaining({ level: 'ERROR', ...named, detail: expect.stringContaining('has no body') }),
    );
    expect(Object.assign({}, ...metricsOf(log.documents()))).toEqual({
      ...{ ArchiveDamaged: 1, FileGivenUp: 1, reason, FileStaged: 1, BytesStaged: 224, SecondsToStaged: 59.877 },
    });
  });

  test('leaves no key of archive or recipient in the log', async () => {
    await world.database.sql("update sda.files set header = '00' where stable_id = 'EGAF1'");
    await stage(['EGAF1', 'EGAF2']);
    for (const secret of [vectorKey('alice').privateKey, vectorKey('bob').publicKey]) {
      for (const encoding of ['hex', 'base64'] as const)
        expect(log.text()).not.toContain(Buffer.from(secret).toString(encoding));
    }
  });
});

describe('a delivery', () => {
  beforeEach(async () => {
    world.request(undefined, { id: requestId, at: new Date('2026-11-21T09:00:00Z') });
    world.archive.delete('bodies/EGAF2');
    await world.consume();
    await world.stage();
    world.now = new Date('2026-11-21T10:00:00.900Z');
  });
  const settle = (body: unknown = { requestId }) =>
    deliver('settle', oneByOne(functions.settleMessage(world.settling, recording)), [body]);

  test('settled: an event, and one log line without names or keys of files', async () => {
    expect(await settle()).toEqual(back());
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

  test('that is not settled is neither counted nor announced', async () => {
    await world.database.sql("update data_out.request_files set state = 'sent'");
    expect(await settle()).toEqual(back());
    expect(log.documents()).toEqual([expect.objectContaining({ message: 'not_settled', requestId })]);
    expect(published).toEqual([]);
  });

  test.each(['', { requestId: 'x' }, { requestId, more: 1 }])(
    'whose message is %j fails, so that it ends among the dead letters',
    async (body) => {
      expect(await settle(body)).toEqual(back('m0'));
      expect(metricsOf(log.documents())).toEqual([{ MessageFailed: 1, stage: 'settle' }]);
    },
  );
});

describe('a dead letter', () => {
  const record = (body: unknown) =>
    deliver('record', oneByOne(functions.recordMessage(world.removing, recording)), [body]);

  test('of a file: given up, counted by its reason and logged, and the message is gone', async () => {
    world.request(undefined, { id: requestId });
    await world.consume();
    expect(await record({ requestId, fileId: 'EGAF1' })).toEqual(back());
    expect(await world.statesOf(requestId)).toEqual(['EGAF1: given_up no_answer', 'EGAF2: sent']);
    expect(metricsOf(log.documents())).toEqual([{ FileGivenUp: 1, reason: 'no_answer' }]);
    expect(log.documents()).toContainEqual(
      expect.objectContaining({ level: 'ERROR', message: 'given up', requestId, isRejected: false }),
    );
    expect(published).toEqual([]);
  });

  test('of a request that was never decided on: rejected, counted and announced, without its visa in the log', async () => {
    expect(await record({ ...wanted, jwtToken: 'secret-visa' })).toEqual(back());
    expect(await world.requestRow(requestId)).toMatchObject({ state: 'rejected', reason: 'failed' });
    expect(metricsOf(log.documents())).toEqual([{ ExportRejected: 1, reason: 'failed' }]);
    expect(published).toEqual([{ requestId, state: 'rejected' }]);
    expect(log.text()).not.toContain('secret-visa');
  });

  test('that cannot be read stays', async () => {
    expect(await record({ requestId, more: 1 })).toEqual(back('m0'));
    expect(metricsOf(log.documents())).toEqual([{ MessageFailed: 1, stage: 'record' }]);
  });
});

describe('the withdrawal', () => {
  beforeEach(async () => {
    world.receipts = false;
    world.request();
    await world.deliverAll();
    await world.event('EGAD1', 'deprecated');
  });
  const run = (mode: 'report' | 'purge', remainingMs?: number) =>
    functions.withdraw(world.removing, mode)({}, lambdaContext(remainingMs));

  test('as a report counts what it leaves, in a line for each dataset and a metric', async () => {
    await run('report');
    expect(world.outbox.objects.size).toBe(2);
    expect(metricsOf(log.documents())).toEqual([{ WithdrawnInOutbox: 2 }]);
    expect(log.documents()).toContainEqual(
      expect.objectContaining({ level: 'WARN', datasetId: 'EGAD1', found: 2, removed: 0 }),
    );
  });

  test('as a purge counts what it deletes, and leaves nothing', async () => {
    await run('purge');
    expect(world.outbox.objects.size).toBe(0);
    expect(metricsOf(log.documents())).toEqual([{ WithdrawnInOutbox: 0, FileWithdrawn: 2 }]);
  });

  test('without a deprecated dataset counts zero, so that the alarm ends', async () => {
    await world.event('EGAD1', 'released');
    await run('report');
    expect(metricsOf(log.documents())).toEqual([{ WithdrawnInOutbox: 0 }]);
  });

  test('with a minute left starts nothing', async () => {
    await run('purge', 59_000);
    expect(world.outbox.objects.size).toBe(2);
  });
});
