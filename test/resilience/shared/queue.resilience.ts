import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { areQueuesEmpty, deliveryOf, passVisibilityTimeout, unfinishedUploads } from '../../helpers/broken-calls.ts';
import { Service, until } from '../../helpers/service.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.shared();
});
afterAll(() => service?.stop());

test('a function that is stopped by its time limit: the message comes back', async () => {
  await service.archive('EGAD1', 'a.vcf', 10);
  await service.setDataset('EGAD1', 'released');
  const { functions, traffic } = service.engine;
  const { timeoutSeconds } = functions.definition('consume-export');
  // Before the first page: with less than 20 s left, none is sent.
  functions.limitTime('consume-export', 2);
  let revival: Promise<void> | undefined;
  const undo = traffic.addFault((call) => {
    const delivery = deliveryOf(service, call);
    if (!delivery || call.action !== 'ExecuteStatement' || revival) return undefined;
    functions.limitTime('consume-export', timeoutSeconds);
    revival = passVisibilityTimeout(service, delivery, service.prefix('researcher'));
    return { when: 'after', action: () => pause(3000), drop: true };
  });
  const visa = await service.visa();
  const requestId = await service.exported({ id: 'EGAD1', visa, publicKey: generateKeyPair().publicKey });
  await until(() => (revival ? true : undefined), 'the first query');
  await revival;
  const steps = await service.settled(requestId);
  await until(async () => (await areQueuesEmpty(service)) || undefined, 'the queues to be empty');
  undo();
  expect(await unfinishedUploads(service)).toEqual([]);
  const line = service.logs.find(({ line }) => line.includes('platform.report') && line.includes('timeout'));
  expect(line?.functionName).toBe('consume-export');
  expect(steps.map(({ event }) => event)).toEqual(['accepted', 'staged']);
});

test('near its time limit a function that has copied a part sends its message again, and the next one stages the file', async () => {
  const { fileId } = await service.archive('EGAD2', 'a.bam', 8_600_000);
  await service.setDataset('EGAD2', 'released');
  const { functions, traffic } = service.engine;
  const { timeoutSeconds } = functions.definition('stage-file');
  // Staging begins nothing with less than 20 s left, and no copy with less than it may take at S3's slowest.
  functions.limitTime('stage-file', 26);
  const sent: string[] = [];
  const undo = traffic.addFault(({ caller, action, input }) => {
    if (caller !== 'stage-file') return undefined;
    const { Entries = [] } = (input ?? {}) as { Entries?: readonly { MessageBody: string }[] };
    sent.push(...Entries.map(({ MessageBody }) => MessageBody).filter((body) => body.includes('fileId')));
    return action === 'UploadPart' ? { delayMs: 5000 } : undefined;
  });
  const visa = await service.visa({ datasetId: 'EGAD2' });
  const requestId = await service.exported({ id: 'EGAD2', visa, publicKey: generateKeyPair().publicKey });
  const steps = await service.settled(requestId);
  undo();
  functions.limitTime('stage-file', timeoutSeconds);
  expect(sent.map((body) => JSON.parse(body))).toEqual([{ requestId, fileId }]);
  expect(steps.map(({ event }) => event)).toEqual(['accepted', 'staged']);
});
