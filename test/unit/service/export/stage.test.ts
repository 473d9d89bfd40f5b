import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type DenyListEntry, entryHash } from '../../../../lib/contract/deny-list.ts';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { decrypt, encryptHeader } from '../../../../lib/crypt4gh/index.ts';
import { unavailable } from '../../../../lib/errors.ts';
import { stageFiles } from '../../../../lib/service/export/stage/stage.ts';
import { ExportPipeline, subject } from '../../../helpers/export-pipeline.ts';
import { vector, vectorKey } from '../../../helpers/export-world.ts';

const MiB = 1024 * 1024;
const body = vector('split/body.bin');
const recipient = outboxPrefix(subject);
const key = `${recipient}/EGAF1-EGAF1.bin.c4gh`;
const ids = Array.from({ length: 10 }, (_, n) => `EGAF${n}`);
const older = { id: '11111111-1111-4111-8111-111111111111', at: new Date('2026-11-21T09:00:00.000Z') };
const newer = { id: '22222222-2222-4222-8222-222222222222', at: new Date('2026-11-21T09:00:00.001Z') };

let world: ExportPipeline;
beforeEach(async () => {
  world = await ExportPipeline.open();
});

/** A request whose messages of files wait in the queue. */
async function sent(bodies: Parameters<ExportPipeline['addDataset']>[1] = { EGAF1: body }): Promise<string> {
  await world.addDataset('EGAD1', bodies);
  return await sentAgain(older);
}

async function sentAgain(more: Parameters<ExportPipeline['request']>[1]): Promise<string> {
  const id = world.request(undefined, more);
  await world.consume();
  world.calls.names.length = 0;
  return id;
}

/** Stage the messages one after the other. */
async function stageInTurn(requestIds: readonly string[]): Promise<void> {
  const messages = world.queues.smallFileExports.splice(0);
  for (const requestId of requestIds) {
    const message = messages.find((one) => one.body.includes(requestId));
    if (message) world.queues.smallFileExports.push(message);
    await world.stage();
  }
}

const container = () => world.outbox.objects.get(key);
const setState = (state: string) => world.database.sql(`update data_out.request_files set state = '${state}'`);
async function dieBeforeRecord(): Promise<void> {
  // Rows, deny list, key, body, container.
  world.calls.crashAt(5, 'before');
  await world.stage();
  expect(container()).toBeDefined();
  world.calls.revive();
}

test('the container has a new header that the recipient alone can open, the same body, and says whose it is', async () => {
  const id = await sent();
  const [staged] = await world.stage();
  const { bytes = Buffer.alloc(0), metadata } = container() ?? {};
  const headerSha256 = createHash('sha256').update(bytes.subarray(0, 124)).digest('hex');
  expect(staged?.end).toEqual({ outcome: 'staged', bytes: 66_181, headerSha256 });
  expect(Buffer.from(bytes.subarray(124)).equals(body)).toBe(true);
  const opened = async (reader: string) => {
    const hash = createHash('sha256');
    for await (const piece of decrypt([bytes], { privateKeys: [vectorKey(reader).privateKey] })) hash.update(piece);
    return hash.digest('hex');
  };
  // The manifest has it for pos-07, from another implementation.
  expect(await opened('bob')).toBe('7fe21a19a553e1e2e1c6642c9abbbf848f01f43f61c3ba4e2f4ed6f596d277af');
  await expect(opened('alice')).rejects.toMatchObject({ code: 'no-decryptable-packet' });
  expect(metadata).toEqual({
    'request-id': id,
    'requested-at': '2026-11-21T09:00:00.000Z',
    'file-id': 'EGAF1',
    'dataset-id': 'EGAD1',
    'recipient-key': createHash('sha256').update(vectorKey('bob').publicKey).digest('hex'),
    'header-sha256': headerSha256,
  });
  expect(await world.fileRow(id, 'EGAF1')).toMatchObject({
    ...{ state: 'staged', outbox_key: key, bytes: 66_181, header_sha256: headerSha256, crc64nvme: null },
  });
  expect(await world.audit()).toEqual(['accepted', 'staged EGAF1']);
});

test('ids outside ASCII are staged, too', async () => {
  world.grant('données', 'visa 2');
  await world.addDataset('données', ['échantillon/1']);
  world.request({ datasetId: 'données' }, { token: 'visa 2' });
  await world.consume();
  await world.stage();
  const [[name, { metadata }] = ['', { metadata: {} }]] = world.outbox.objects;
  expect(name).toBe(`${recipient}/_c3_a9chantillon_2f1-1.bin.c4gh`);
  expect(metadata).toMatchObject({ 'file-id': '%C3%A9chantillon%2F1', 'dataset-id': 'donn%C3%A9es' });
});

test('ten files take one query to find, one to record and one to ask; and two calls of S3 each', async () => {
  const id = await sent(ids);
  const ends = await world.stage();
  expect(ends.map(({ fileId, end }) => [fileId, end.outcome])).toEqual(ids.map((fileId) => [fileId, 'staged']));
  expect(Object.entries(Object.groupBy(world.calls.names, (name) => name)).map(([name, all]) => [name, all?.length]))
    .toEqual([
      ['db.query', 3],
      ['denyList', 1],
      ['archiveKeys', 10],
      ['archive.readWhole', 10],
      ['outbox.put', 10],
      ['deliveries.send', 1],
    ]); // biome-ignore format: one table
  expect(world.queues.deliveries.map(({ body: text }) => JSON.parse(text))).toEqual([{ requestId: id }]);
});

test('bodies of 8 MiB: four at once', async () => {
  await sent(Object.fromEntries(ids.map((id) => [id, Buffer.alloc(8 * MiB)])));
  let most = 0;
  const count = (name: string) => world.calls.names.filter((one) => one === name).length;
  const { readWhole } = world.archive;
  vi.spyOn(world.archive, 'readWhole').mockImplementation(async (...given) => {
    const read = await readWhole.apply(world.archive, given);
    most = Math.max(most, count('archive.readWhole') - count('outbox.put'));
    return read;
  });
  await world.stage();
  expect([most, world.outbox.objects.size]).toEqual([4, 10]);
});

describe('two requests for one container', () => {
  test.each([
    ['the newer one', older, newer],
    ['at one instant, the one with the greater id', { ...older, at: newer.at }, newer],
  ])('%s stays, whichever is staged last', async (_, lower, higher) => {
    for (const order of [
      [lower.id, higher.id],
      [higher.id, lower.id],
    ]) {
      world = await ExportPipeline.open();
      await world.addDataset('EGAD1', ['EGAF1']);
      await sentAgain(lower);
      await sentAgain(higher);
      await stageInTurn(order);
      expect(container()?.metadata).toMatchObject({ 'request-id': higher.id });
      expect(await world.statesOf(higher.id)).toEqual(['EGAF1: staged']);
      const isLast = order[1] === higher.id;
      expect(await world.fileRow(lower.id, 'EGAF1')).toMatchObject(
        isLast
          ? { state: 'staged', superseded_by: null }
          : { state: 'superseded', superseded_by: higher.id, outbox_key: key },
      );
    }
  });

  test('a container that changes twice while it is written comes back', async () => {
    const id = await sent(['EGAF1']);
    vi.spyOn(world.outbox, 'put').mockResolvedValue('conflict');
    expect(await world.stage()).toMatchObject([{ end: { error: { code: 'temporarily_unavailable' } } }]);
    expect([await world.statesOf(id), world.queues.smallFileExports.length]).toEqual([
      ['EGAF1: sent temporarily_unavailable'],
      1,
    ]);
  });
});

describe('delivered again', () => {
  test('after a death: the container is found, and recorded', async () => {
    const id = await sent(['EGAF1']);
    await dieBeforeRecord();
    expect(await world.statesOf(id)).toEqual(['EGAF1: sent']);
    expect(await world.stage()).toMatchObject([{ end: { outcome: 'staged', bytes: 224 } }]);
    expect([await world.statesOf(id), world.outbox.writes]).toEqual([['EGAF1: staged'], 1]);
  });

  test.each(['staged', 'superseded', 'given_up'])('a row that is %s needs no S3, and asks again', async (state) => {
    await sent(['EGAF1']);
    await setState(state);
    expect(await world.stage()).toMatchObject([{ end: { outcome: 'ended' } }]);
    expect(world.calls.names).toEqual(['db.query', 'denyList', 'db.query', 'db.query', 'deliveries.send']);
  });

  test.each(['withdrawn', 'rejected'])('a row that is %s takes its container back, and no other', async (state) => {
    await sent(['EGAF1']);
    await dieBeforeRecord();
    await setState(state);
    const [message] = world.queues.smallFileExports;
    if (message) world.queues.smallFileExports.push({ ...message });
    expect(await world.stage()).toMatchObject([{ end: { outcome: 'ended' } }, { end: { outcome: 'ended' } }]);
    expect(world.outbox.objects.size).toBe(0);
    await world.database.sql("update data_out.request_files set state = 'sent'");
    await sentAgain(newer);
    await stageInTurn([newer.id]);
    await setState(state);
    world.put('smallFileExports', { requestId: older.id, fileId: 'EGAF1' });
    await world.stage();
    expect(container()?.metadata).toMatchObject({ 'request-id': newer.id });
  });

  test('a row that is gone ends the message', async () => {
    await sent(['EGAF1']);
    await world.database.sql('delete from data_out.request_files');
    expect(await world.stage()).toMatchObject([{ end: { outcome: 'ended' } }]);
    expect([world.outbox.objects.size, world.queues.smallFileExports]).toEqual([0, []]);
  });
});

const broker = 'https://broker.example';
describe('rejected: nothing is visible, and the message is gone', () => {
  const deny = (entry: DenyListEntry) => async () => void world.denied.push(entry);
  const cases: [string, string, () => Promise<unknown>][] = [
    ['its recipient is denied', 'visa_denied', deny(subject)],
    ['its visa is denied', 'visa_denied', deny({ iss: broker, jti: 'passport-1' })],
    ['its dataset is deprecated', 'not_released', () => world.event('EGAD1', 'deprecated')],
    ['it left the dataset', 'not_released', () => world.database.sql('delete from sda.file_dataset')],
    ['it left the catalogue', 'not_released', () =>
      world.database.sql('with gone as (delete from sda.file_dataset) delete from sda.files')],
  ]; // biome-ignore format: one table
  test.each(cases)('%s', async (_, reason, happening) => {
    world.grant('EGAD1', 'visa', { dependsOn: [entryHash({ iss: broker, jti: 'passport-1' })] });
    const id = await sent(['EGAF1']);
    await happening();
    expect(await world.stage()).toMatchObject([{ end: { outcome: 'rejected', reason } }]);
    expect(await world.statesOf(id)).toEqual([`EGAF1: rejected ${reason}`]);
    expect(await world.audit()).toEqual(['accepted', `rejected EGAF1 ${reason}`]);
    expect([world.outbox.objects.size, world.outbox.writes, world.queues.smallFileExports]).toEqual([0, 0, []]);
  });

  test('a container that a dead invocation put before', async () => {
    const id = await sent(['EGAF1']);
    await dieBeforeRecord();
    await world.event('EGAD1', 'deprecated');
    await world.withdraw();
    await world.stage();
    expect([await world.statesOf(id), world.outbox.objects.size]).toEqual([['EGAF1: rejected not_released'], 0]);
  });

  test.each([
    ['withdrawn', "update data_out.request_files set state = 'withdrawn'"],
    ['rejected', "update data_out.request_files set state = 'rejected'"],
    ['deleted', 'delete from data_out.request_files'],
  ])('a container whose row was %s while it was written', async (_, sql) => {
    await sent(['EGAF1']);
    world.calls.after('outbox.put', () => world.database.sql(sql));
    expect(await world.stage()).toMatchObject([{ end: { outcome: 'ended' } }]);
    expect([world.outbox.writes, world.outbox.objects.size]).toEqual([1, 0]);
  });
});

describe('damage ends a file at once', () => {
  const column = (set: string) => () => world.database.sql(`update sda.files set ${set} where stable_id = 'EGAF1'`);
  const cases: [string, string, RegExp, () => unknown][] = [
    ['no body', 'archive_damaged', /has no body/, () => world.archive.delete('bodies/EGAF1')],
    ['a body of another size', 'archive_damaged', /says 100 bytes/, () =>
      world.archive.set('bodies/EGAF1', Buffer.alloc(99))],
    ['a header that no key opens', 'archive_damaged', /none of 1 archive keys/, column("header = '00'")],
    ['a header that is not hexadecimal', 'archive_damaged', /not hexadecimal/, column("header = 'zz'")],
    ['no size', 'archive_damaged', /no size/, column('archive_file_size = null')],
    ['a bucket that the settings do not name', 'archive_location_unknown', /EGAF1/,
      column("archive_location = 's3://nowhere'")],
  ]; // biome-ignore format: one table
  test.each(cases)('%s', async (_, reason, detail, damage) => {
    const id = await sent(['EGAF1', 'EGAF2']);
    await damage();
    const [one, two] = await world.stage();
    expect(one?.end).toEqual({ outcome: 'given_up', reason, detail: expect.stringMatching(detail) });
    expect(one?.end).toMatchObject({ detail: expect.stringContaining('file EGAF1') });
    expect(two?.end.outcome).toBe('staged');
    expect(await world.statesOf(id)).toEqual([`EGAF1: given_up ${reason}`, 'EGAF2: staged']);
    expect(await world.audit()).toContain(`given_up EGAF1 ${reason}`);
    expect(world.queues.smallFileExports).toEqual([]);
  });
});

describe('any other error', () => {
  test.each([
    ['temporarily_unavailable', unavailable('S3 is down')],
    ['internal_error', new TypeError('a mistake')],
  ])('fails its message alone, and its row says %s until it is staged', async (code, error) => {
    const id = await sent(['EGAF1', 'EGAF2', 'EGAF3']);
    vi.spyOn(world.archive, 'readWhole').mockRejectedValueOnce(error);
    expect((await world.stage()).map(({ end }) => end.outcome)).toEqual(['failed', 'staged', 'staged']);
    expect(await world.statesOf(id)).toEqual([`EGAF1: sent ${code}`, 'EGAF2: staged', 'EGAF3: staged']);
    expect(world.queues.deliveries).toEqual([]);
    await world.stage();
    expect(await world.statesOf(id)).toEqual(['EGAF1: staged', 'EGAF2: staged', 'EGAF3: staged']);
    expect(world.queues.deliveries).toHaveLength(1);
  });

  test('a message that cannot be read fails alone', async () => {
    await sent(['EGAF1']);
    world.put('smallFileExports', '{');
    world.put('smallFileExports', { requestId: older.id, fileId: 'EGAF1', publicKey: 'x' });
    expect((await world.stage()).map(({ end }) => end.outcome)).toEqual(['staged', 'failed', 'failed']);
  });

  test.each([
    ['the rows', 0],
    ['the deny list', 1],
    // After two keys, two bodies and two containers.
    ['the record', 8],
    ['the question whether a request has an open file', 9],
  ])('of %s fails every message, and the next delivery ends them', async (_, at) => {
    const id = await sent(['EGAF1', 'EGAF2']);
    world.calls.failAt(at, 'before', unavailable('down'));
    expect((await world.stage()).map(({ end }) => end.outcome)).toEqual(['failed', 'failed']);
    await world.deliverAll();
    expect(await world.statesOf(id)).toEqual(['EGAF1: staged', 'EGAF2: staged']);
    expect(await world.requestRow(id)).toMatchObject({ state: 'complete', settled_revision: 1 });
    expect(world.outbox.writes).toBe(3);
  });

  test('too little time to begin: nothing is read or written', async () => {
    await sent(['EGAF1']);
    world.remainingMs = () => 19_000;
    expect(await world.stage()).toMatchObject([{ end: { error: { code: 'temporarily_unavailable' } } }]);
    expect(world.calls.names).not.toContain('archive.readWhole');
  });
});

test('a delivery that finds its file staged by another one meanwhile leaves the container', async () => {
  const id = await sent();
  const message = { body: JSON.stringify({ requestId: id, fileId: 'EGAF1' }) };
  const { archive, ...rest } = world.staging;
  let remaining = 900_000;
  const slow = {
    ...rest,
    archive: {
      ...archive,
      readWhole: async (...asked: Parameters<typeof archive.readWhole>) => {
        const read = await archive.readWhole(...asked);
        await stageFiles([message], world.staging, () => 900_000);
        remaining = 800_000;
        return read;
      },
    },
  };
  const [late] = await stageFiles([message], slow, () => remaining);
  expect(late?.end).toEqual({ outcome: 'ended' });
  expect(await world.statesOf(id)).toEqual(['EGAF1: staged']);
  expect(world.outbox.objects.has(key)).toBe(true);
});

test('a delivery that is rejected after another one has staged the file leaves the container', async () => {
  const id = await sent();
  const message = { body: JSON.stringify({ requestId: id, fileId: 'EGAF1' }) };
  const denied = async () => {
    await stageFiles([message], world.staging, () => 900_000);
    return new Set([outboxPrefix(subject)]);
  };
  await stageFiles([message], { ...world.staging, denied }, () => 900_000);
  expect(await world.statesOf(id)).toEqual(['EGAF1: staged']);
  expect(world.outbox.objects.has(key)).toBe(true);
});

test('a container that replaced an older one and is taken back leaves no row of the older one that says it is staged', async () => {
  await sent();
  await world.stage();
  await world.deliverAll();
  await sentAgain(newer);
  world.calls.crashAt(7, 'before');
  await world.stage();
  world.calls.revive();
  expect(container()?.metadata).toMatchObject({ 'request-id': newer.id });
  await world.database.sql('delete from sda.dataset_event_log');
  await world.deliverAll();
  expect(container()).toBeUndefined();
  expect([await world.statesOf(older.id), await world.statesOf(newer.id)]).toEqual([
    ['EGAF1: withdrawn'],
    ['EGAF1: rejected not_released'],
  ]);
  expect(await world.requestRow(older.id)).toMatchObject({ state: 'withdrawn', revision: 2, settled_revision: 2 });
});

test('the digest of a container that is found is of the header that was written, whatever the archive has by now', async () => {
  const id = await sent();
  await dieBeforeRecord();
  const sha256 = createHash('sha256')
    .update(container()?.bytes.subarray(0, 124) ?? '')
    .digest('hex');
  const header = encryptHeader({ dataKeys: [Buffer.alloc(32, 9)], recipients: [vectorKey('alice').publicKey] });
  await world.database.sql(`update sda.files set header = '${Buffer.from(header).toString('hex')}'`);
  await world.stage();
  expect(await world.fileRow(id, 'EGAF1')).toMatchObject({ state: 'staged', header_sha256: sha256 });
});

test('two deliveries cross, of which one is refused and removes what the other one records: the row says so', async () => {
  const id = await sent();
  await dieBeforeRecord();
  world.queues.smallFileExports.length = 0;
  const message = { body: JSON.stringify({ requestId: id, fileId: 'EGAF1' }) };
  world.calls.after('outbox.head', () => stageFiles([message], world.staging, () => 900_000));
  const denied = async () => new Set([outboxPrefix(subject)]);
  await stageFiles([message], { ...world.staging, denied }, () => 900_000);
  expect(container()).toBeUndefined();
  expect(await world.statesOf(id)).toEqual(['EGAF1: withdrawn']);
  await world.deliverAll();
  expect(await world.requestRow(id)).toMatchObject({ state: 'withdrawn', revision: 2, settled_revision: 2 });
});
