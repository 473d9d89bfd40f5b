import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { copyWithoutBatches } from '../helpers/assembly.ts';
import { endings, inPlace, unfinishedUploads } from '../helpers/broken-calls.ts';
import { BrokenExports, type Point, type Run } from '../helpers/broken-exports.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { receive } from '../helpers/receive.ts';
import { Service } from '../helpers/service.ts';

/**
 * The crash points of an export: every AWS call that the consumers make, as recorded from exports, goes wrong in each
 * of five ways. A call that is added to the code is covered without a change here.
 */
const datasetId = 'EGAD00000000001';
const files = [
  { fileId: 'EGAF00000000001', message: 'small', path: 'small.vcf', size: 5000 },
  { fileId: 'EGAF00000000002', message: 'large', path: 'large.bam', size: 8_600_000 },
] as const;
const recipient = generateKeyPair();
let service: Service;
let assemblyDir: string;
let broken: BrokenExports;
/** The containers of an undisturbed export, in the order of `files`. */
let expected: readonly Buffer[];
let plainCalls: readonly string[];
/** Ids of the requests that were sent on as settled. */
const settled = new Set<string>();

beforeAll(async () => {
  // Faults and kills are of one message: none shares an invocation.
  assemblyDir = mkdtempSync(join(tmpdir(), 'data-out-assembly-'));
  await copyWithoutBatches(assemblyDir);
  service = await Service.start({ assemblyDir });
  service.engine.traffic.observe(({ action, input }) => {
    const { QueueUrl, Entries = [] } = input as { QueueUrl?: string; Entries?: readonly { MessageBody: string }[] };
    if (action !== 'SendMessageBatch' || QueueUrl !== service.connection.outputs.DeliveriesQueueUrl) return;
    for (const { MessageBody } of Entries) settled.add(JSON.parse(MessageBody).requestId);
  });
  for (const { path, size, fileId } of files) await service.archive(datasetId, path, size, fileId);
  await service.setDataset(datasetId, 'released');
  const messages = Object.fromEntries(files.map(({ fileId, message }) => [fileId, message]));
  broken = new BrokenExports(service, { datasetId, messages, publicKey: recipient.publicKey });
  const [run] = await broken.run([[]]);
  plainCalls = [...(run?.calls ?? [])];
  const keys = (await service.outboxKeys(run?.subject)).filter((key) => key.endsWith('.c4gh'));
  expected = await Promise.all(keys.map((key) => service.object('OutboxBucketName', key)));
});
afterAll(async () => {
  await service?.stop();
  rmSync(assemblyDir, { recursive: true, force: true });
});

test('an undisturbed export is whole, and opens with the key of its recipient alone', async () => {
  for (const [at, { path, size }] of files.entries()) {
    const hash = createHash('sha256');
    for await (const chunk of bytesOf({ path, size })) hash.update(chunk);
    const container = () => once(expected[at] as Buffer);
    expect((await receive(container(), recipient.privateKey)).plaintextSha256).toBe(hash.digest('hex'));
    await expect(receive(container(), generateKeyPair().privateKey)).rejects.toThrow();
  }
});

test('every AWS call of an export fails, before and after its effect, or its function dies there', async () => {
  expect(plainCalls.length).toBeGreaterThanOrEqual(22);
  const byMessage = [...Map.groupBy(plainCalls, (call) => call.split(':')[0]).values()];
  const runs = await broken.run([
    // Faults that a function survives happen to all its calls in one export.
    ...byMessage.flatMap((calls) => inPlace.map((how) => calls.map((call): Point => ({ call, how })))),
    // Faults that it does not survive happen to one delivery after the other.
    ...plainCalls.map((call) => endings.map((how): Point => ({ call, how }))),
  ]);
  for (const run of runs) await expectWhole(run);
  expect(await unfinishedUploads(service)).toEqual([]);
}, 120_000);

test('every call that is made only after a failure fails, too', async () => {
  const copy = 'large: s3 UploadPartCopy outbox 1';
  // One function lives to save its parts and put its message back. Both leave their upload to the next delivery.
  const setbacks: readonly Point[] = [
    { call: copy, how: 'refused' },
    { call: copy, how: 'killed after' },
  ];
  const recorded = await broken.run(setbacks.map((setback) => [setback]));
  const more = recorded.map(({ calls }) => [...calls].filter((call) => !plainCalls.includes(call)));
  const resume = 'large: s3 ListParts outbox 1';
  expect(more).toEqual([['large: sqs ChangeMessageVisibility 1', resume], [resume]]);
  const queues = setbacks.flatMap((setback, at) => {
    const calls = more[at] ?? [];
    return [
      ...inPlace.map((how) => [setback, ...calls.map((call): Point => ({ call, how }))]),
      ...calls.flatMap((call) => endings.map((how) => [setback, { call, how }])),
    ];
  });
  const runs = await broken.run(queues);
  for (const run of [...recorded, ...runs]) await expectWhole(run);
  expect(await unfinishedUploads(service)).toEqual([]);
}, 120_000);

test('no message was lost on the way', async () => {
  const { outputs } = service.connection;
  const { ExportRequestsDeadLetterQueueUrl, FileExportsDeadLetterQueueUrl } = outputs;
  expect(await service.queueDepth(ExportRequestsDeadLetterQueueUrl)).toBe(0);
  expect(await service.queueDepth(FileExportsDeadLetterQueueUrl)).toBe(0);
  expect(await service.queueDepth(outputs.SmallFileExportsDeadLetterQueueUrl)).toBe(0);
});

/** The containers exist byte for byte, and nothing else; each event was recorded once; the request is settled. */
async function expectWhole({ requestId, subject }: Run): Promise<void> {
  // When the request is settled is not waited for.
  const rows = (await service.audit(requestId)).filter(({ event }) => event !== 'settled');
  expect(rows.map(({ event, fileId }) => `${event} ${fileId}`).sort()).toEqual([
    'accepted null',
    ...files.map(({ fileId }) => `staged ${fileId}`),
  ]);
  const open = `select file_id from data_out.request_files where request_id = '${requestId}' and state <> 'staged'`;
  expect(await service.sql(open)).toEqual([]);
  const ended = `select files, generation, sealed_at is not null from data_out.requests where request_id = '${requestId}'`;
  expect(await service.sql(ended)).toEqual([[String(files.length), '1', 't']]);
  expect(settled).toContain(requestId);
  const keys = (await service.outboxKeys(subject)).filter((key) => key.endsWith('.c4gh'));
  expect(keys).toEqual(files.map(({ fileId, path }) => `${service.prefix(subject)}/${fileId}-${path}.c4gh`));
  for (const [at, key] of keys.entries()) {
    const container = await service.object('OutboxBucketName', key);
    expect(container.equals(expected[at] as Buffer)).toBe(true);
  }
}

async function* once(bytes: Buffer) {
  yield new Uint8Array(bytes);
}
