import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
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

test('a message of a file says which row to look at, and nothing of the visa or the key', async () => {
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
    [1, 2].map(() => ['fileId', 'requestId']),
  );
  for (const part of visa.split('.')) expect(sent[0]).not.toContain(part);
  expect(await stagedPaths(requestId)).toEqual(['a.vcf', 'b.vcf']);
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
  expect(failures()).toMatchObject([{ received: 1, code: 'temporarily_unavailable' }]);
  const [key = ''] = await containerKeys(subject);
  const container = await service.object('OutboxBucketName', key);
  expect(container.subarray(-replaced.length).equals(replaced)).toBe(true);
  expect(container.length - replaced.length).toBe(124);
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
