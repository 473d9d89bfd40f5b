import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { Service } from '../helpers/service.ts';

const mebibyte = 1024 * 1024;
const datasetId = 'EGAD00000000021';
const subject = 'small-files';
const large = 'EGAF00000000099';
const small = Array.from({ length: 12 }, (_, n) => `EGAF000000000${n + 10}`);

let service: Service;
beforeAll(async () => {
  service = await Service.shared();
  for (const fileId of small) await service.archive(datasetId, `${fileId}.vcf`, 2048, fileId);
  await service.archive(datasetId, 'large.bam', 9 * mebibyte, large);
  await service.setDataset(datasetId, 'released');
});
afterAll(() => service?.stop());

interface Sent {
  readonly QueueUrl: string;
  readonly Entries: readonly { readonly MessageBody: string; readonly MessageGroupId?: string }[];
}

test('files go to the queue of their size, in the group of their recipient, and small ones are staged together', async () => {
  const { outputs } = service.connection;
  const sent: Sent[] = [];
  const batches = new Map<string, readonly string[]>();
  const unobserve = service.engine.traffic.observe(({ caller, action, invocation = '', input }) => {
    if (action === 'SendMessageBatch' && caller === 'consume-export') sent.push(input as unknown as Sent);
    const event = caller === 'stage-file' && service.engine.functions.invocation(invocation)?.event;
    if (!event) return;
    const { Records } = JSON.parse(event) as { Records: { body: string }[] };
    batches.set(
      invocation,
      Records.map(({ body }) => JSON.parse(body).fileId),
    );
  });
  service.engine.traffic.resetCounters();
  const visa = await service.visa({ datasetId, subject });
  const requestId = await service.exported({ id: datasetId, visa, publicKey: generateKeyPair().publicKey });
  await service.settled(requestId, small.length + 1);
  unobserve();

  const filesOf = (queueUrl: string) =>
    sent
      .filter(({ QueueUrl }) => QueueUrl === queueUrl)
      .flatMap(({ Entries }) => Entries.map(({ MessageBody }) => JSON.parse(MessageBody).fileId));
  expect(filesOf(outputs.SmallFileExportsQueueUrl).sort()).toEqual(small);
  expect(filesOf(outputs.FileExportsQueueUrl)).toEqual([large]);
  const groups = sent.flatMap(({ Entries }) => Entries.map(({ MessageGroupId }) => MessageGroupId));
  expect(new Set(groups)).toEqual(new Set([service.prefix(subject)]));

  // Twelve messages come in two batches of ten and two, or in more where the poll was early.
  const files = [...batches.values()];
  expect(files.flat().sort()).toEqual([...small, large].sort());
  expect(files).toContainEqual([large]);
  expect(Math.max(...files.map((batch) => batch.length))).toBeGreaterThan(1);
  expect(service.calls('stage-file s3 GetObject')).toBe(small.length + 1);
  expect(service.calls('stage-file s3 PutObject')).toBe(small.length);
  // The large file's own two: of its body and of the outbox.
  expect(service.calls('stage-file s3 HeadObject')).toBeLessThanOrEqual(3);
});
