import { beforeEach, expect, test } from 'vitest';
import { ExportPipeline } from '../../../helpers/export-pipeline.ts';

const id = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';

let world: ExportPipeline;
beforeEach(async () => {
  world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['F1', 'F2']);
});
const request = () => world.request({ datasetId: 'EGAD1' }, { id });
/** Deliver the messages of a queue until it has put all of them aside. */
async function fail(queue: keyof ExportPipeline['queues'], trouble: () => void): Promise<void> {
  for (let receives = 1; receives <= 5; receives += 1) {
    trouble();
    await world.deliver(queue).catch(() => undefined);
  }
  world.calls.revive();
  expect(world.queues[queue]).toEqual([]);
}
const settling = () => world.queues.deliveries.map(({ body }) => body);

test('a file is given up with the code of its last error, and its request is settled when no file is open', async () => {
  request();
  await world.consume();
  const { archive } = world;
  const readWhole = archive.readWhole.bind(archive);
  archive.readWhole = (address, ...more) =>
    address.archiveFilePath === 'bodies/F1' ? Promise.reject(new Error('unforeseen')) : readWhole(address, ...more);
  await fail('smallFileExports', () => undefined);
  expect(await world.statesOf(id)).toEqual(['F1: sent internal_error', 'F2: staged']);
  expect(settling()).toEqual([]);
  expect(await world.recordDeadLetter()).toEqual({
    ...{ requestId: id, isRejected: false },
    givenUp: [{ request_id: id, reason: 'internal_error', files: 1 }],
  });
  expect(await world.statesOf(id)).toEqual(['F1: given_up internal_error', 'F2: staged']);
  expect(await world.audit()).toEqual(['accepted', 'staged F2', 'given_up F1 internal_error']);
  expect(settling()).toEqual([`{"requestId":"${id}"}`]);
  await world.deliverAll();
  expect(await world.requestRow(id)).toMatchObject({ state: 'incomplete', revision: 1, settled_revision: 1 });
});

test('a file of which no attempt could record an error is given up as no_answer', async () => {
  request();
  await world.consume();
  await fail('smallFileExports', () => world.calls.crashAt(0, 'before'));
  expect(world.deadLetters).toHaveLength(2);
  for (const _ of ['F1', 'F2']) await world.recordDeadLetter();
  expect(await world.statesOf(id)).toEqual(['F1: given_up no_answer', 'F2: given_up no_answer']);
  // One message for each, of the same files, changes nothing.
  world.deadLetters.push(...['F1', 'F9'].map((fileId) => deadLetter({ requestId: id, fileId })));
  expect(await world.recordDeadLetter()).toMatchObject({ givenUp: [] });
  expect(await world.recordDeadLetter()).toMatchObject({ givenUp: [] });
  expect(await world.audit()).toEqual(['accepted', 'given_up F1 no_answer', 'given_up F2 no_answer']);
});

test.each(['staged', 'superseded', 'rejected', 'withdrawn'])('a file that ended as %s stays so', async (state) => {
  request();
  await world.consume();
  await world.database.sql(`update data_out.request_files set state = '${state}'`);
  world.deadLetters.push(deadLetter({ requestId: id, fileId: 'F1' }));
  expect(await world.recordDeadLetter()).toMatchObject({ givenUp: [] });
  expect(await world.statesOf(id)).toEqual([`F1: ${state}`, `F2: ${state}`]);
  // The invocation that recorded the end may have died before it asked.
  expect(settling()).toEqual([`{"requestId":"${id}"}`]);
});

test('a late success replaces given_up, also after the request was settled, and the receipt is written again', async () => {
  request();
  await world.consume();
  const { archive } = world;
  const readWhole = archive.readWhole.bind(archive);
  archive.readWhole = async (address, ...more) => {
    const body = await readWhole(address, ...more);
    if (address.archiveFilePath === 'bodies/F2') {
      // An invocation that works beyond its time, and whose message was put aside meanwhile.
      world.deadLetters.push(...['F1', 'F2'].map((fileId) => deadLetter({ requestId: id, fileId })));
      while (world.deadLetters.length > 0) await world.recordDeadLetter();
      await world.settle();
      expect(await world.requestRow(id)).toMatchObject({ state: 'incomplete', revision: 1, settled_revision: 1 });
    }
    return body;
  };
  await world.stage();
  expect(await world.statesOf(id)).toEqual(['F1: staged', 'F2: staged']);
  expect(await world.requestRow(id)).toMatchObject({ revision: 2, settled_revision: 1 });
  await world.deliverAll();
  expect(await world.requestRow(id)).toMatchObject({ state: 'complete', revision: 2, settled_revision: 2 });
  expect([...(await world.audit())].sort()).toEqual([
    ...['accepted', 'given_up F1 no_answer', 'given_up F2 no_answer', 'settled incomplete', 'staged F1', 'staged F2'],
  ]);
});

test('of an accepted request only what could not be sent is given up', async () => {
  request();
  // The files of the first page are sent and not marked; one of them overtakes.
  await fail('exportRequests', () => world.calls.crashAt(world.queues.exportRequests[0]?.receives ? 3 : 11, 'before'));
  await world.database.sql("update data_out.request_files set state = 'sent' where file_id = 'F1'");
  expect(await world.recordDeadLetter()).toEqual({
    ...{ requestId: id, isRejected: false },
    givenUp: [{ request_id: id, reason: 'not_sent', files: 1 }],
  });
  expect(await world.statesOf(id)).toEqual(['F1: sent', 'F2: given_up not_sent']);
  expect(await world.requestRow(id)).toMatchObject({ state: 'accepted', reason: null });
  expect(await world.audit()).toEqual(['accepted', 'given_up F2 not_sent']);
  expect(settling()).toEqual([]);
});

test('a request on which no delivery could decide is rejected as failed', async () => {
  request();
  await fail('exportRequests', () => world.calls.crashAt(1, 'before'));
  expect(await world.requestRow(id)).toBeUndefined();
  expect(await world.recordDeadLetter()).toEqual({ requestId: id, isRejected: true, givenUp: [] });
  expect(await world.requestRow(id)).toMatchObject({
    ...{ state: 'rejected', reason: 'failed', kind: 'dataset', dataset_id: 'EGAD1', archive_kind: 'fega' },
    ...{ recipient: null, public_key: null, settled_revision: 1 },
  });
  expect(await world.audit()).toEqual(['rejected failed']);
  expect([world.sentFiles, settling()]).toEqual([[], []]);
});

test('a message of deliveries goes, and the sweep settles its request', async () => {
  request();
  await world.consume();
  await world.stage();
  await fail('deliveries', () => world.calls.crashAt(0, 'before'));
  expect(await world.recordDeadLetter()).toEqual({ requestId: id, isRejected: false, givenUp: [] });
  expect([world.deadLetters, settling()]).toEqual([[], []]);
  expect(await world.sweep()).toMatchObject({ settling: 1 });
  await world.deliverAll();
  expect(await world.requestRow(id)).toMatchObject({ state: 'complete', settled_revision: 1 });
});

test.each(['no JSON', {}, { requestId: 'x' }, { requestId: id, fileId: '' }, { jwtToken: 'visa' }])(
  'a message that cannot be read stays: %j',
  async (body) => {
    world.deadLetters.push(deadLetter(body));
    await expect(world.recordDeadLetter()).rejects.toThrow(/^malformed: /);
    expect([world.deadLetters.length, await world.audit()]).toEqual([1, []]);
  },
);

test('the error of a message that cannot be read has no text of it: it may be a visa', async () => {
  world.deadLetters.push(deadLetter({ jwtToken: 'visa', publicKey: 'key', datasetId: 'EGAD1', 'visa as a name': 1 }));
  await expect(world.recordDeadLetter()).rejects.toThrow(/^malformed: message$/);
});

function deadLetter(body: unknown) {
  world.put('deliveries', body);
  return world.queues.deliveries.pop()!;
}
