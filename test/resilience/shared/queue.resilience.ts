import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type FileExportMessage, fileExportMessage } from '../../../lib/contract/messages.ts';
import { generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import type { AwsCall, Fault } from '../../../lib/local/endpoint/traffic.ts';
import {
  areQueuesEmpty,
  type Delivery,
  deliveryOf,
  passVisibilityTimeout,
  unfinishedUploads,
} from '../../helpers/broken-calls.ts';
import { Service, until } from '../../helpers/service.ts';

const large = 8_600_000;
const recipient = generateKeyPair();
let service: Service;
beforeAll(async () => {
  service = await Service.shared();
});
afterAll(() => service?.stop());

let subject: string;
let datasetId: string;
let datasets = 0;
let undo: () => void;
/** Number of earlier log lines. */
let logged: number;
beforeEach(() => {
  subject = randomUUID();
  datasets += 1;
  datasetId = `EGAD${datasets}`;
  undo = () => {};
  logged = service.logs.length;
});
afterEach(() => {
  undo();
  for (const name of ['consume-export', 'stage-file']) limitTime(name);
});

// What a receipt adds, and when, is not looked at here.
const containerKeys = async (of: string) => (await service.outboxKeys(of)).filter((key) => key.endsWith('.c4gh'));
const stepsOf = async (id: string) => (await service.audit(id)).filter(({ event }) => event !== 'settled');

test('a message that always fails ends in the dead-letter queue after five receives, others are not held up', async () => {
  await archived({ 'good.vcf': 1000, 'gone.vcf': 1000, 'short.vcf': 1000, 'good.bam': large });
  const [gone, short] = [await bodyOf('gone.vcf'), await bodyOf('short.vcf')];
  await service.s3.send(new DeleteObjectCommand(gone));
  await service.s3.send(new PutObjectCommand({ ...short, Body: Buffer.alloc(99) }));
  const statuses = new Set<number>();
  undo = service.engine.traffic.observe(({ caller, key }, status) => {
    if (caller === 'stage-file' && key === gone.Key) statuses.add(status);
  });
  const requestId = await exported();
  await service.settled(requestId, 2);
  const before = failures().length;
  await ended(requestId);
  const dead = await deadFileExports();

  // The others were staged before the bad ones were given up.
  expect(before).toBeLessThan(10);
  const damage = failures().map(({ received, detail }) => {
    const what = /archive has no body|archive has 99$/.exec(detail)?.[0] ?? detail;
    return `${received} ${what}`;
  });
  expect(damage.sort()).toEqual(
    [1, 2, 3, 4, 5].flatMap((received) => [`${received} archive has 99`, `${received} archive has no body`]),
  );
  expect(failures().filter(({ detail }) => detail.includes(`${gone.Bucket}/${gone.Key}`))).toHaveLength(5);
  // The role may list the bucket, so S3 says that the body is missing, not that access is denied.
  expect([...statuses]).toEqual([404]);
  expect(dead.map((message) => [message.requestId, message.fileId])).toEqual([
    [requestId, fileIds.get('gone.vcf')],
    [requestId, fileIds.get('short.vcf')],
  ]);
  expect(await stagedPaths(requestId)).toEqual(['good.bam', 'good.vcf']);
  expect(await containerKeys(subject)).toHaveLength(2);
  const paths = ['gone.vcf', 'good.bam', 'good.vcf', 'short.vcf'];
  expect(await statesOf(requestId, paths)).toEqual(['given_up', 'staged', 'staged', 'given_up']);
  const givenUp = await service.sql(
    `select file_id, reason from data_out.export_log where event = 'given_up' order by 1`,
  );
  expect(givenUp).toEqual([fileIds.get('gone.vcf'), fileIds.get('short.vcf')].map((id) => [id, 'archive_damaged']));

  // Mended, and moved back from the dead letters.
  for (const body of [gone, short]) await service.s3.send(new PutObjectCommand({ ...body, Body: Buffer.alloc(1000) }));
  await service.sql('update sda.files set archive_file_size = 1000 where archive_file_size < 2000');
  for (const message of dead)
    await service.enqueue(service.connection.outputs.SmallFileExportsQueueUrl, JSON.stringify(message));
  await until(async () => (await stagedPaths(requestId)).length === 4 || undefined, 'the mended files to be staged');
  expect(await statesOf(requestId, paths)).toEqual(['staged', 'staged', 'staged', 'staged']);
  const [[generation] = []] = await service.sql(
    `select generation from data_out.requests where request_id = '${requestId}'`,
  );
  expect(Number(generation)).toBeGreaterThan(1);
});

test('an invocation that died on the last receive is swept: its file is given up, and the next sweep sends the request on', async () => {
  await archived({ 'good.vcf': 1000, 'lost.vcf': 1000 });
  const requestId = await exported();
  await service.settled(requestId, 2);
  await ended(requestId);
  const lost = `request_id = '${requestId}' and file_id = '${fileIds.get('lost.vcf')}'`;
  await service.sql(`update data_out.request_files set state = 'pending', is_last_try = true,
    tried_at = now() - interval '21 minutes' where ${lost}`);
  await service.sql(
    `update data_out.requests set updated_at = now() - interval '6 minutes', tried_at = null, settled_generation = 0
     where request_id = '${requestId}'`,
  );
  const sent: string[] = [];
  undo = service.engine.traffic.observe(({ caller, action, input }) => {
    if (caller === 'sweep-deliveries' && action === 'SendMessageBatch') sent.push(JSON.stringify(input));
  });
  expect(await service.engine.functions.invoke('sweep-deliveries', {})).toMatchObject({ ok: true });
  expect(await statesOf(requestId, ['good.vcf', 'lost.vcf'])).toEqual(['staged', 'given_up']);
  expect(await service.sql(`select reason from data_out.export_log where event = 'given_up' and ${lost}`)).toEqual([
    ['no_answer'],
  ]);
  // A sweep sends requests on before it gives files up.
  expect(sent).toEqual([]);
  expect(await service.engine.functions.invoke('sweep-deliveries', {})).toMatchObject({ ok: true });
  expect(sent).toEqual([expect.stringContaining(requestId)]);
});

describe('poison: rejected with a row, not tried again', () => {
  const good = { requestId: randomUUID(), requestedAt: new Date().toISOString(), fileId: 'F', datasetId: 'D' };
  const key = Buffer.from(recipient.publicKey).toString('base64');
  const cases: [name: string, queue: 'ExportRequestsQueueUrl' | 'FileExportsQueueUrl', body: string][] = [
    ['no JSON', 'ExportRequestsQueueUrl', 'dataset EGAD1, please'],
    ['another shape', 'ExportRequestsQueueUrl', JSON.stringify({ datasetId: 'EGAD1' })],
    ['a list', 'ExportRequestsQueueUrl', '[]'],
    [
      'an unknown field',
      'ExportRequestsQueueUrl',
      JSON.stringify({ jwtToken: 'a.b.c', publicKey: key, datasetId: 'D', to: '/' }),
    ],
    ['no JSON', 'FileExportsQueueUrl', '{"requestId":'],
    ['another shape', 'FileExportsQueueUrl', JSON.stringify(good)],
    [
      'an outbox prefix that is none',
      'FileExportsQueueUrl',
      JSON.stringify({ ...good, recipient: '../', publicKey: key }),
    ],
  ];
  test.each(cases)('%s on %s', async (_, queue, MessageBody) => {
    const QueueUrl = service.connection.outputs[queue];
    const messageId = await service.enqueue(QueueUrl, MessageBody);
    await ended(messageId);
    expect(await service.audit(messageId)).toMatchObject([{ event: 'rejected', reason: 'malformed_message' }]);
    expect(failures()).toEqual([]);
  });
});

test('a message of a file carries what staging needs, and nothing of the visa', async () => {
  await archived({ 'a.vcf': 10, 'b.vcf': 10 });
  const sent: string[] = [];
  undo = service.engine.traffic.observe(({ caller, action, input }) => {
    if (caller === 'consume-export' && action.startsWith('SendMessage')) sent.push(JSON.stringify(input));
  });
  const visa = await service.visa({ subject, datasetId });
  const requestId = await service.exported({ id: datasetId, visa, publicKey: recipient.publicKey });
  await ended(requestId);
  expect(sent).toHaveLength(1);
  const { Entries } = JSON.parse(sent[0] ?? '') as { Entries: { MessageBody: string }[] };
  expect(Entries.map(({ MessageBody }) => Object.keys(JSON.parse(MessageBody)).sort())).toEqual(
    [1, 2].map(() => ['datasetId', 'dependsOn', 'fileId', 'publicKey', 'recipient', 'requestId', 'requestedAt']),
  );
  for (const part of visa.split('.')) expect(sent[0]).not.toContain(part);
  expect(await stagedPaths(requestId)).toEqual(['a.vcf', 'b.vcf']);
});

test.each([
  ['between fan-out and staging', 'consume-export', 'SendMessageBatch'],
  ['while its bodies are copied', 'stage-file', 'UploadPart'],
])('a dataset that is withdrawn %s is not staged', async (_, during, call) => {
  await archived({ 'a.bam': large, 'b.bam': large });
  let withdrawn: Promise<void> | undefined;
  undo = service.engine.traffic.addFault(({ caller, action }) => {
    if (caller !== during || action !== call) return undefined;
    withdrawn ??= service.setDataset(datasetId, 'deprecated');
    return { action: () => withdrawn };
  });
  const requestId = await exported();
  await ended(requestId);
  expect(await stepsOf(requestId)).toMatchObject([
    { event: 'accepted' },
    { event: 'rejected', reason: 'not_released', datasetId },
    { event: 'rejected', reason: 'not_released', datasetId },
  ]);
  expect(await containerKeys(subject)).toEqual([]);
  expect(failures()).toEqual([]);
});

test('a body that is replaced while it is copied is not mixed: the next delivery takes the new one whole', async () => {
  await archived({ 'a.bam': large });
  const body = await bodyOf('a.bam');
  const replaced = (await service.object('ArchiveBucketName', body.Key)).reverse();
  let once = true;
  undo = onCall(({ action }) => {
    if (action !== 'UploadPart' || !once) return undefined;
    once = false;
    // By now the first bytes have been read, and the rest has not been copied.
    return { action: () => service.s3.send(new PutObjectCommand({ ...body, Body: replaced })) };
  });
  const requestId = await exported();
  await ended(requestId);
  expect(failures()).toMatchObject([{ received: 1, code: 'archive_damaged' }]);
  const [key = ''] = await containerKeys(subject);
  const container = await service.object('OutboxBucketName', key);
  expect(container.subarray(-replaced.length).equals(replaced)).toBe(true);
  expect(container.length - replaced.length).toBe(124);
});

test('a throttled and resuming database is waited for: the message is received once', async () => {
  await archived({ 'a.vcf': 10 });
  const answers = ['ThrottlingException', 'DatabaseResumingException'];
  const met = new Map<string, number>();
  undo = onCall(({ service: api, input }, { received }) => {
    expect(received).toBe(1);
    const sql = String(input?.sql);
    const times = met.get(sql) ?? 0;
    const code = answers[times];
    if (api !== 'rds-data' || !code) return undefined;
    met.set(sql, times + 1);
    return { error: { status: 400, code } };
  });
  const requestId = await exported();
  await ended(requestId);
  expect([...met.values()]).toEqual([...met.keys()].map(() => 2));
  expect(met.size).toBeGreaterThanOrEqual(4);
  expect(failures()).toEqual([]);
  expect(await stagedPaths(requestId)).toEqual(['a.vcf']);
});

test('near its time limit a function stops cleanly, and the next delivery stages the file', async () => {
  await archived({ 'a.bam': large });
  // Staging begins nothing with less than 20 s left.
  limitTime('stage-file', 22);
  undo = onCall(({ action }, { received }) =>
    action === 'UploadPart' && received === 1 ? { delayMs: 2500 } : undefined,
  );
  const requestId = await exported();
  await ended(requestId);
  expect(failures()).toMatchObject([{ received: 1, code: 'temporarily_unavailable' }]);
  expect(String(failures()[0]?.detail)).toContain('the invocation ends soon');
  expect(await stagedPaths(requestId)).toEqual(['a.bam']);
});

test('a function that is stopped by its time limit: the message comes back', async () => {
  await archived({ 'a.vcf': 10 });
  // Before the first page: with less than 20 s left, none is sent.
  limitTime('consume-export', 2);
  let revival: Promise<void> | undefined;
  undo = onCall((call, delivery) => {
    if (call.action !== 'ExecuteStatement' || revival) return undefined;
    limitTime('consume-export');
    revival = passVisibilityTimeout(service, delivery, service.prefix(subject));
    return { when: 'after', action: () => pause(3000), drop: true };
  });
  const requestId = await exported();
  await until(async () => (revival ? true : undefined), 'the first query');
  await revival;
  await ended(requestId);
  const line = service.logs
    .slice(logged)
    .find(({ line }) => line.includes('platform.report') && line.includes('timeout'));
  expect(line?.functionName).toBe('consume-export');
  expect((await stepsOf(requestId)).map(({ event }) => event)).toEqual(['accepted', 'staged']);
});

/** Stable ids of the files of the test's dataset, by path. */
const fileIds = new Map<string, string>();

/** The test's own dataset, released, of files of these paths and sizes. */
async function archived(sizes: Readonly<Record<string, number>>): Promise<void> {
  fileIds.clear();
  for (const [path, size] of Object.entries(sizes)) {
    const { fileId } = await service.archive(datasetId, path, size, `EGAF${datasets}0${fileIds.size}`);
    fileIds.set(path, fileId);
  }
  await service.setDataset(datasetId, 'released');
}

/** Where the archived body of a file is. */
async function bodyOf(path: string): Promise<{ Bucket: string; Key: string }> {
  const rows = await service.sql(
    `select archive_file_path from sda.files where stable_id = '${fileIds.get(path) ?? ''}'`,
  );
  return { Bucket: service.connection.outputs.ArchiveBucketName, Key: rows[0]?.[0] ?? '' };
}

async function exported(): Promise<string> {
  const visa = await service.visa({ subject, datasetId });
  return service.exported({ id: datasetId, visa, publicKey: recipient.publicKey });
}

function onCall(rule: (call: AwsCall, delivery: Delivery) => Fault | undefined): () => void {
  return service.engine.traffic.addFault((call) => {
    const delivery = deliveryOf(service, call);
    return delivery && rule(call, delivery);
  });
}

/** @param seconds absent: those of the template */
function limitTime(name: string, seconds = service.engine.functions.definition(name).timeoutSeconds): void {
  service.engine.functions.limitTime(name, seconds);
}

/** Wait until a request has left a row and no message is on its way. Then nothing is half done. */
async function ended(requestId: string): Promise<void> {
  await until(
    async () => ((await stepsOf(requestId)).length > 0 && (await areQueuesEmpty(service))) || undefined,
    `request ${requestId} to end`,
  );
  undo();
  expect(await unfinishedUploads(service)).toEqual([]);
  expect(await service.queueDepth(service.connection.outputs.ExportRequestsDeadLetterQueueUrl)).toBe(0);
  if (failures().length < 5) {
    expect(await service.queueDepth(service.connection.outputs.FileExportsDeadLetterQueueUrl)).toBe(0);
    expect(await service.queueDepth(service.connection.outputs.SmallFileExportsDeadLetterQueueUrl)).toBe(0);
  }
}

interface Failure {
  readonly received: number;
  readonly error: string;
  readonly detail: string;
}

/** Deliveries that failed during the test, as the functions logged them. */
function failures(): readonly Failure[] {
  return service.logs
    .slice(logged)
    .filter(({ line }) => line.includes('"message failed"'))
    .map(({ line }) => JSON.parse(line) as Failure);
}

async function stagedPaths(requestId: string): Promise<readonly string[]> {
  const rows = await stepsOf(requestId);
  const staged = new Set(rows.flatMap(({ event, fileId }) => (event === 'staged' && fileId ? [fileId] : [])));
  return [...fileIds].flatMap(([path, fileId]) => (staged.has(fileId) ? [path] : [])).sort();
}

/** What happened to the files of a request. */
async function statesOf(requestId: string, paths: readonly string[]): Promise<readonly (string | null | undefined)[]> {
  const rows = await service.sql(`select file_id, state from data_out.request_files where request_id = '${requestId}'`);
  return paths.map((path) => rows.find(([fileId]) => fileId === fileIds.get(path))?.[1]);
}

/** Take all dead file exports out of their queue, in the order of their files. */
async function deadFileExports(): Promise<readonly FileExportMessage[]> {
  const QueueUrl = service.connection.outputs.SmallFileExportsDeadLetterQueueUrl;
  const { Messages = [] } = await service.sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
  for (const { ReceiptHandle } of Messages)
    await service.sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
  return Messages.map(({ Body = '' }) => fileExportMessage.parse(JSON.parse(Body))).sort((a, b) =>
    a.fileId < b.fileId ? -1 : 1,
  );
}
