import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { copyWithSettings } from '../helpers/assembly-with-settings.ts';
import { Service, until } from '../helpers/service.ts';

/** The service with the settings `events` and `outboxQuotaGib`. */
const folder = mkdtempSync(join(tmpdir(), 'data-out-events-'));
const { publicKey } = generateKeyPair();
let service: Service;

beforeAll(async () => {
  await copyWithSettings(folder, { events: 'on', outboxQuotaGib: 1 });
  service = await Service.start({ assemblyDir: folder });
  for (const id of ['EGAD1', 'EGAD2']) {
    await service.archive(id, `${id}.bam`, 1000);
    await service.setDataset(id, 'released');
  }
  // The catalogue says that a file is large, of which nothing is ever staged.
  await service.sql(
    "update sda.files set archive_file_size = 1073741824 where submission_file_path like '%EGAD2.bam%'",
  );
}, 120_000);
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

type Kind = 'Export Accepted' | 'Export Rejected' | 'Delivery Settled';
const eventsOf = (requestId: string, kind: Kind) =>
  service.engine.events.filter((event) => event['detail-type'] === kind && event.detail.requestId === requestId);
const eventOf = (requestId: string, kind: Kind) =>
  until(() => eventsOf(requestId, kind)[0], `the event ${kind} of ${requestId}`);
const exported = async (id = 'EGAD1') =>
  service.exported({ id, visa: await service.visa({ datasetId: id }), publicKey });

test('an export that is accepted is an event, which names the request, and no person or dataset', async () => {
  const requestId = await exported();
  const { id: _, time, ...event } = await eventOf(requestId, 'Export Accepted');
  expect(event).toEqual({
    source: 'data-out',
    'detail-type': 'Export Accepted',
    detail: { requestId, state: 'accepted', deployment: 'DataOutService' },
  });
  expect(Date.parse(time)).toBeGreaterThan(Date.now() - 60_000);
  const shown = service.logs
    .filter(({ functionName }) => functionName === 'events')
    .map(({ line }) => JSON.parse(line));
  expect(shown).toContainEqual(eventsOf(requestId, 'Export Accepted')[0]);
  await service.settled(requestId);
});

test('a delivery that is settled is one event, however often its message comes', async () => {
  const requestId = randomUUID();
  const hash = 'ab'.repeat(32);
  await service.sql(
    `insert into data_out.requests
       (request_id, requested_at, kind, dataset_id, recipient, key_fingerprint, state, files)
     values ('${requestId}', now(), 'dataset', 'EGAD1', '${hash}', '${hash}', 'accepted', 1)`,
  );
  await service.sql(
    `insert into data_out.request_files (request_id, file_id, state) values ('${requestId}', 'EGAF9', 'given_up')`,
  );
  const { DeliveriesQueueUrl: url } = service.connection.outputs;
  await service.enqueue(url, JSON.stringify({ requestId }));
  const { detail } = await eventOf(requestId, 'Delivery Settled');
  expect(detail).toEqual({ requestId, state: 'incomplete', deployment: 'DataOutService' });
  await service.enqueue(url, JSON.stringify({ requestId }));
  const isRepeated = () =>
    service.logs.some(({ line }) => line.includes('already_settled') && line.includes(requestId));
  await until(() => (isRepeated() ? true : undefined), 'the second message');
  await until(async () => ((await service.queueDepth(url)) === 0 ? true : undefined), 'the message to be gone');
  expect(eventsOf(requestId, 'Delivery Settled')).toHaveLength(1);
});

test('a request beyond the quota is rejected and stages nothing', async () => {
  const before = await service.outboxKeys();
  expect(before).toHaveLength(1);
  const rejected = { event: 'rejected', reason: 'outbox_quota_exceeded', datasetId: 'EGAD2' };
  expect(await service.settled(await exported('EGAD2'))).toEqual([expect.objectContaining(rejected)]);
  expect(await service.outboxKeys()).toEqual(before);
});

test('for an export that succeeds or is rejected, the consumer and the function of receipts call EventBridge, and no other one', () => {
  const callers = Object.keys(service.engine.traffic.counters()).filter((call) => call.includes(' events '));
  expect(callers.sort()).toEqual(['consume-export events PutEvents', 'settle-delivery events PutEvents']);
});
