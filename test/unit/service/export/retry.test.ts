import { beforeEach, expect, test } from 'vitest';
import type { DeliveryReceipt } from '../../../../lib/contract/delivery.ts';
import { entryHash } from '../../../../lib/contract/deny-list.ts';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { ExportPipeline, subject } from '../../../helpers/export-pipeline.ts';

const unknown = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';
const token = { iss: 'https://issuer.example', jti: 'visa-1' };

let world: ExportPipeline;
let id: string;
/** F1 is staged. F2 and F3 were given up, because the archive had lost their bodies. */
beforeEach(async () => {
  world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['F1', 'F2', 'F3']);
  world.grant('EGAD1', 'visa', { dependsOn: [entryHash(token)] });
  for (const fileId of ['F2', 'F3']) world.archive.delete(`bodies/${fileId}`);
  id = world.request();
  await world.deliverAll();
  expect(await world.statesOf(id)).toEqual([
    ...['F1: staged', 'F2: given_up archive_damaged', 'F3: given_up archive_damaged'],
  ]);
});
const mend = () => {
  for (const fileId of ['F2', 'F3']) world.archive.set(`bodies/${fileId}`, Buffer.alloc(100, fileId));
};
const setRequest = (change: string) => world.database.sql(`update data_out.requests set ${change}`);
const receipt = (): DeliveryReceipt => {
  const [name = ''] = world.outboxNames(true);
  const bytes = world.outbox.objects.get(`${outboxPrefix(subject)}/${name}`)?.bytes ?? new Uint8Array();
  return JSON.parse(Buffer.from(Buffer.from(bytes).toString().split('.')[1] ?? '', 'base64url').toString());
};

test('every file that was given up is tried again: the revision rises, and the receipt is written again', async () => {
  expect(receipt()).toMatchObject({ generation: 1, complete: false, missing: [{ file_id: 'F2' }, { file_id: 'F3' }] });
  mend();
  expect(await world.retry(id)).toEqual({ reopened: 2, sent: 2 });
  expect(await world.statesOf(id)).toEqual(['F1: staged', 'F2: sent', 'F3: sent']);
  expect(await world.requestRow(id)).toMatchObject({ state: 'incomplete', revision: 2, settled_revision: 1 });
  await world.deliverAll();
  expect(await world.statesOf(id)).toEqual(['F1: staged', 'F2: staged', 'F3: staged']);
  expect(await world.requestRow(id)).toMatchObject({ state: 'complete', revision: 2, settled_revision: 2, staged: 3 });
  expect(receipt()).toMatchObject({ generation: 2, complete: true, missing: [] });
  expect(await world.retry(id)).toEqual({ reopened: 0, sent: 0 });
  expect(await world.requestRow(id)).toMatchObject({ revision: 2 });
});

test('one file is tried again, and may end as before', async () => {
  expect(await world.retry(id, 'F2')).toEqual({ reopened: 1, sent: 1 });
  expect(world.sentFiles).toEqual([{ requestId: id, fileId: 'F2' }]);
  await world.deliverAll();
  expect(await world.statesOf(id)).toEqual([
    ...['F1: staged', 'F2: given_up archive_damaged', 'F3: given_up archive_damaged'],
  ]);
  expect(await world.requestRow(id)).toMatchObject({ state: 'incomplete', revision: 2, settled_revision: 2 });
  for (const fileId of ['F1', 'F9']) expect(await world.retry(id, fileId)).toEqual({ reopened: 0, sent: 0 });
});

test('what an earlier retry left waiting is sent, also when nothing is reopened', async () => {
  mend();
  // The deny list, the transaction with its six statements, and the first page.
  world.calls.crashAt(9, 'before');
  await expect(world.retry(id)).rejects.toThrow('died in smallFileExports.send');
  expect(await world.statesOf(id)).toEqual(['F1: staged', 'F2: waiting', 'F3: waiting']);
  world.calls.revive();
  expect(await world.retry(id)).toEqual({ reopened: 0, sent: 2 });
  await world.deliverAll();
  expect(await world.requestRow(id)).toMatchObject({ state: 'complete', revision: 2, settled_revision: 2 });
});

test('the receipt of a retry that ended and was not settled is asked for', async () => {
  await setRequest('settled_revision = 0');
  expect(await world.retry(id, 'F1')).toEqual({ reopened: 0, sent: 0 });
  expect(world.queues.deliveries.map(({ body }) => body)).toEqual([`{"requestId":"${id}"}`]);
});

test.each<[refused: string, trouble: () => unknown]>([
  ['unknown_request', () => (id = unknown)],
  ['rejected', () => setRequest("state = 'rejected'")],
  ['erased', () => setRequest('recipient = null')],
  ['visa_expired', () => setRequest("visa_expires_at = now() - interval '1 second'")],
  ['visa_denied', () => world.denied.push(subject)],
  ['visa_denied', () => world.denied.push(token)],
  ['not_released', () => world.event('EGAD1', 'deprecated')],
  ['outbox_quota_exceeded', () => (world.quota = { gib: 0, expiryDays: 30 })],
])('it is refused: %s', async (refused, trouble) => {
  await trouble();
  expect(await world.retry(id)).toEqual({ refused });
  expect(world.sentFiles).toEqual([]);
  if (id !== unknown) {
    expect(await world.requestRow(id)).toMatchObject({ revision: 1 });
    expect(await world.fileRow(id, 'F2')).toMatchObject({ state: 'given_up' });
  }
});
