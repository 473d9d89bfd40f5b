import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { unavailable } from '../../../../lib/errors.ts';
import { consumeExportRequest } from '../../../../lib/service/export/consume.ts';
import { stageFiles } from '../../../../lib/service/export/stage.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';
import { vector, vectorKey } from '../../../helpers/export-world.ts';
import { rowIdOf } from '../../../helpers/fake-catalogue.ts';
import { LedgerWorld } from '../../../helpers/ledger-world.ts';

const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';
const newerId = '7f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';
const sentAt = new Date('2026-11-21T09:59:00.123Z');
const subject = { iss: 'https://issuer.example', sub: 'r1' };
const publicKey = Buffer.from(vectorKey('bob').publicKey).toString('base64');
const ids = ['F1', 'F2', 'F3', 'F4'];
const down = unavailable('down');
const ample = () => 900_000;

let database: TestDatabase;
let world: LedgerWorld;
beforeAll(async () => {
  database = await TestDatabase.shared();
});
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(async () => {
  world = await worldWith();
});

async function worldWith(): Promise<LedgerWorld> {
  const made = await LedgerWorld.on(database);
  made.catalogue.addDataset('EGAD1', { released: true, fileIds: ids });
  for (const id of ids) made.addFile(id, vector('split/body.bin'));
  made.visas.set('good-visa', [
    { subject, datasetId: 'EGAD1', expiresAt: new Date('2026-11-21T11:00:00Z'), dependsOn: [] },
  ]);
  return made;
}

const asked = { jwtToken: 'good-visa', publicKey, datasetId: 'EGAD1' };
const consume = (body: object = asked, isLast = false, id = requestId, at = sentAt) =>
  consumeExportRequest(
    {
      messageId: id,
      body: JSON.stringify(body),
      attributes: { requestId: id },
      sentAt: at,
      receive: { count: isLast ? 100 : 1, isLast },
    },
    world.consuming,
    ample,
  );

/** The messages that were sent to files, as one batch delivers them. */
const messagesFor = (fileIds: readonly string[], { redelivered = false, isLast = false } = {}) =>
  fileIds.map((fileId) => {
    const message = world.smallFileExports.sent.find((one) => one.fileId === fileId);
    if (!message) throw new Error(`no message for ${fileId}`);
    return {
      messageId: fileId,
      body: JSON.stringify(message),
      sentAt,
      receive: { count: redelivered ? 2 : 1, isLast },
    };
  });
const stage = (fileIds: readonly string[], how?: Parameters<typeof messagesFor>[1]) =>
  stageFiles(messagesFor(fileIds, how), world.staging, ample);
const states = () => world.statesOf(requestId);
const all = (state: string) => ids.map((id) => `${id}: ${state}`);
const row = () => world.row(requestId);
const eventsOf = async (event: string) => (await world.audit()).filter((one) => one.event === event);
const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** As the receipt does it. */
const close = () => database.sql('update data_out.requests set settled_generation = generation');

describe('a request is sent on as settled', () => {
  test('by the last file that is staged, once', async () => {
    await consume();
    expect(await states()).toEqual(all('pending'));
    for (const id of ids) await stage([id]);
    expect(await states()).toEqual(all('staged'));
    expect(world.deliveries.sent).toEqual([requestId]);
  });

  test('by the fan-out that ends after the last file is staged', async () => {
    world.catalogue.addDataset('EGAD1', { released: true, fileIds: ['F1', 'F2'] });
    const sending = world.smallFileExports.send.bind(world.smallFileExports);
    world.smallFileExports.send = async (messages) => {
      await sending(messages);
      await stage(messages.map(({ fileId }) => fileId));
    };
    await consume();
    expect(world.deliveries.sent).toEqual([requestId]);
  });

  test('in every order of two batches and the end of the fan-out', async () => {
    // Calls of the others that each batch waits for.
    for (const first of [0, 3, 99]) {
      for (const second of [0, 3, 99]) {
        world = await worldWith();
        // The messages of all files are sent; the fan-out has not ended.
        world.calls.crashAt(10, 'before');
        await expect(consume()).rejects.toThrow();
        world.calls.revive();
        expect((await row())?.isFannedOut).toBe(false);
        const begun = world.calls.names.length;
        let isOver = false;
        const late = async (lead: number, fileIds: readonly string[]) => {
          while (!isOver && world.calls.names.length < begun + lead) await turns(1);
          await stage(fileIds);
        };
        const fanOut = consume().finally(() => {
          isOver = true;
        });
        await Promise.all([late(first, ['F1', 'F2']), late(second, ['F3', 'F4']), fanOut]);
        expect(await states()).toEqual(all('staged'));
        expect(new Set(world.deliveries.sent)).toEqual(new Set([requestId]));
      }
    }
  });

  test('after a crash at any call, before or after its effect', async () => {
    for (let at = 0, met = true; met; at += 1) {
      world = await worldWith();
      world.calls.crashAt(at, at % 2 ? 'before' : 'after');
      const steps = [() => consume(), () => stage(['F1', 'F2']), () => stage(['F3', 'F4'])];
      for (const step of steps) {
        const ended = await step().catch(() => undefined);
        const isDone = Array.isArray(ended) ? ended.every((end) => end.status === 'fulfilled') : ended !== undefined;
        if (isDone) continue;
        world.calls.revive();
        await step();
      }
      met = world.calls.revive();
      expect(await states()).toEqual(all('staged'));
      expect(new Set(world.deliveries.sent)).toEqual(new Set([requestId]));
      expect(await row()).toMatchObject({ state: 'accepted', isFannedOut: true, generation: 1 });
    }
  });

  test('again when the message of a settled file comes once more, until the receipt exists', async () => {
    await consume();
    await stage(ids);
    await stage(['F1'], { redelivered: true });
    expect(world.deliveries.sent).toEqual([requestId, requestId]);
    await close();
    await stage(['F1'], { redelivered: true });
    await consume();
    expect(world.deliveries.sent).toHaveLength(2);
    expect(await states()).toEqual(all('staged'));
  });
});

describe('a file', () => {
  /** SHA-256 of `22:https://issuer.exampler1`, the byte length of `iss` first. */
  const prefix = createHash('sha256').update('22:https://issuer.exampler1').digest('hex');
  const keyOf = (id: string) => `${prefix}/${id}-${id}.bin.c4gh`;
  const endOf = (id: string) => world.fileRow(requestId, id);

  test('that is staged says where, how large, and what its header is; the next delivery says it again', async () => {
    await consume();
    await stage(['F1']);
    const bytes = world.outbox.objects.get(keyOf('F1'))?.bytes ?? new Uint8Array();
    const headerSha256 = createHash('sha256').update(bytes.subarray(0, 124)).digest('hex');
    const expected = { outbox_key: keyOf('F1'), bytes: bytes.length, header_sha256: headerSha256 };
    expect(await endOf('F1')).toMatchObject(expected);
    // The row was lost: the container is asked for its checksum.
    await database.sql(
      "update data_out.request_files set state = 'pending', outbox_key = null, bytes = null where file_id = 'F1'",
    );
    await stage(['F1'], { redelivered: true });
    expect(await endOf('F1')).toMatchObject({
      ...expected,
      state: 'staged',
      crc64nvme: expect.stringMatching(/^.{11}=$/),
    });
  });

  test('of which the outbox has a newer container names the newer request', async () => {
    await consume(asked, false, newerId, new Date(sentAt.getTime() + 1000));
    await stage(ids);
    world.smallFileExports.sent.length = 0;
    await consume();
    await stage(ids);
    expect(await states()).toEqual(all('superseded'));
    // By its key the receipt finds the newer container.
    expect(await endOf('F1')).toMatchObject({ superseded_by: newerId, outbox_key: keyOf('F1') });
    expect(world.deliveries.sent).toEqual([newerId, requestId]);
  });

  test('that is refused is settled with the reason', async () => {
    await consume();
    world.catalogue.setReleased('EGAD1', false);
    await stage(ids);
    expect(await states()).toEqual(all('rejected'));
    expect(await endOf('F1')).toMatchObject({ reason: 'not_released' });
    expect(world.deliveries.sent).toEqual([requestId]);
  });

  test('of a denied visa is settled, whatever the other batch does', async () => {
    let refused = 0;
    for (let lead = 0; lead < 10; lead += 1) {
      world = await worldWith();
      await consume();
      const staging = stage(['F1', 'F2']);
      await turns(lead);
      world.deniedEntries.push(subject);
      await Promise.all([staging, stage(['F3', 'F4'])]);
      expect((await states()).filter((state) => /: (staged|rejected)$/.test(`${state}`))).toHaveLength(4);
      expect(world.deliveries.sent).toContain(requestId);
      refused += (await eventsOf('rejected')).length;
    }
    expect(refused).toBeGreaterThan(20);
  });

  test('that fails is retried, and given up at its last receive', async () => {
    await consume();
    await stage(['F2', 'F3', 'F4']);
    world.calls.failAt(0, 'before', down);
    await stage(['F1']);
    expect(await states()).toEqual(['F1: retrying', 'F2: staged', 'F3: staged', 'F4: staged']);
    expect(await endOf('F1')).toMatchObject({ reason: 'temporarily_unavailable' });
    expect(world.deliveries.sent).toEqual([]);
    world.calls.failAt(0, 'before', down);
    const [end] = await stage(['F1'], { redelivered: true, isLast: true });
    expect(end?.status).toBe('rejected');
    expect((await states())[0]).toBe('F1: given_up');
    expect(await eventsOf('given_up')).toEqual([
      expect.objectContaining({ fileId: 'F1', reason: 'temporarily_unavailable' }),
    ]);
    expect(world.deliveries.sent).toEqual([requestId]);
  });

  test('that was given up is staged after its message came from the dead letters, in the next generation', async () => {
    await consume();
    await stage(['F2', 'F3', 'F4']);
    world.catalogue.damaged.add('F1');
    await stage(['F1'], { redelivered: true, isLast: true });
    await close();
    // A late duplicate changes nothing.
    await stage(['F1'], { redelivered: true });
    expect((await states())[0]).toBe('F1: given_up');
    expect((await row())?.generation).toBe(1);
    world.catalogue.damaged.clear();
    await stage(['F1']);
    expect(await states()).toEqual(all('staged'));
    expect(await row()).toMatchObject({ generation: 2, settledGeneration: 1 });
    expect(world.deliveries.sent).toEqual([requestId, requestId]);
  });

  test('of a request from before the rows is staged, and nothing is settled', async () => {
    await consume();
    await world.forget();
    expect(await stage(ids)).toMatchObject(ids.map(() => ({ value: { outcome: 'staged' } })));
    expect(await states()).toEqual([]);
    expect(world.deliveries.sent).toEqual([]);
  });
});

describe('a fan-out', () => {
  test('that fails at its last receive gives up what it did not send, and is settled', async () => {
    // The second page is not sent.
    world.calls.failAt(9, 'before', down);
    await expect(consume(asked, true)).rejects.toBe(down);
    expect(await row()).toMatchObject({
      state: 'failed',
      reason: 'temporarily_unavailable',
      isFannedOut: true,
      sentTo: rowIdOf('F3'),
    });
    expect(await states()).toEqual(['F1: pending', 'F2: pending', 'F3: pending', 'F4: given_up']);
    expect(await eventsOf('failed')).toEqual([expect.objectContaining({ reason: 'temporarily_unavailable' })]);
    expect(world.deliveries.sent).toEqual([]);
    await stage(['F1', 'F2', 'F3']);
    expect(world.deliveries.sent).toEqual([requestId]);
  });

  test('that had failed continues behind what it sent when its message comes from the dead letters', async () => {
    world.calls.failAt(9, 'before', down);
    await expect(consume(asked, true)).rejects.toBe(down);
    await stage(['F1', 'F2', 'F3']);
    await close();
    expect(await consume()).toMatchObject({ outcome: 'accepted', files: 4 });
    expect(world.smallFileExports.sent.map(({ fileId }) => fileId)).toEqual(ids);
    expect(await row()).toMatchObject({ state: 'accepted', generation: 2, isFannedOut: true });
    await stage(['F4']);
    expect(await states()).toEqual(all('staged'));
    expect(world.deliveries.sent).toEqual([requestId, requestId]);
  });

  test('that comes further takes as many deliveries as it needs, and five that bring nothing end it', async () => {
    const fileIds = Array.from({ length: 30 }, (_, n) => `F${n + 10}`);
    world.catalogue.addDataset('EGAD1', { released: true, fileIds });
    const receive = async (count: number, remainingMs: () => number) => {
      return await consumeExportRequest(
        {
          messageId: requestId,
          sentAt,
          attributes: { requestId, archiveKind: 'fega' },
          body: JSON.stringify(asked),
          receive: { count, isLast: false },
        },
        world.consuming,
        remainingMs,
      ).catch((error: unknown) => error);
    };
    // Each has time for one page.
    for (let count = 1; count <= 8; count += 1) {
      let steps = 0;
      const error = await receive(count, () => (++steps > 1 ? 0 : 300_000));
      expect(error).toMatchObject({ code: 'temporarily_unavailable', retryAfterSeconds: 0 });
    }
    expect(await row()).toMatchObject({ state: 'accepted', isFannedOut: false, files: 24 });
    const { send } = world.fileExports;
    world.fileExports.send = world.smallFileExports.send = () => Promise.reject(down);
    for (let count = 9; count <= 12; count += 1) expect(await receive(count, ample)).toBe(down);
    expect(await row()).toMatchObject({ state: 'accepted' });
    expect(await receive(13, ample)).toBe(down);
    expect(await row()).toMatchObject({ state: 'failed', reason: 'temporarily_unavailable', isFannedOut: true });
    // SQS still delivers the message, which stays given up.
    world.fileExports.send = world.smallFileExports.send = send;
    expect(await receive(14, ample)).toMatchObject({
      message: expect.stringContaining('5 deliveries'),
      retryAfterSeconds: 0,
    });
    expect(await row()).toMatchObject({ state: 'failed' });
    // It comes from the dead letters.
    expect(await receive(1, ample)).toMatchObject({ outcome: 'accepted', files: 30 });
  });

  test('that fails before it decides is on record, and a replay carries it out', async () => {
    world.calls.failAt(1, 'before', down);
    await expect(consume(asked, true)).rejects.toBe(down);
    expect(await row()).toMatchObject({ state: 'failed', requestedAt: sentAt });
    expect(await states()).toEqual([]);
    expect(await consume()).toMatchObject({ outcome: 'accepted', files: 4 });
    expect(await row()).toMatchObject({ state: 'accepted', generation: 2 });
  });

  test('that has sent everything does not fail when the request cannot be sent on as settled', async () => {
    world.deliveries.send = () => Promise.reject(down);
    await consume();
    await stage(ids);
    await expect(consume(asked, true)).rejects.toBe(down);
    expect(await row()).toMatchObject({ state: 'accepted', isFannedOut: true });
    expect(await eventsOf('failed')).toEqual([]);
  });

  test('that cannot be given up fails with its first failure; the sweep continues', async () => {
    const { ledger } = world;
    ledger.fail = () => Promise.reject(new Error('another'));
    world.calls.failAt(9, 'before', down);
    await expect(consume(asked, true)).rejects.toBe(down);
    expect(await row()).toMatchObject({ state: 'accepted', isFannedOut: false });
  });

  test('of a dataset that is withdrawn between two deliveries refuses what it did not send', async () => {
    world.calls.failAt(9, 'before', down);
    await expect(consume()).rejects.toBe(down);
    world.catalogue.setReleased('EGAD1', false);
    expect(await consume()).toMatchObject({ outcome: 'rejected', reason: 'not_released' });
    expect(await row()).toMatchObject({ state: 'accepted', isFannedOut: true });
    expect(await states()).toEqual(['F1: pending', 'F2: pending', 'F3: pending', 'F4: rejected']);
    await stage(['F1', 'F2', 'F3']);
    expect(world.deliveries.sent).toEqual([requestId]);
  });
});

describe('a request that is refused', () => {
  test.each([
    ['not a message', 'malformed_message', {}],
    [{ ...asked, jwtToken: 'unknown' }, 'visa_malformed_token', { datasetId: 'EGAD1' }],
    [{ ...asked, datasetId: 'EGAD9' }, 'unknown_dataset', { datasetId: 'EGAD9' }],
  ])('%j is on record with what is known of it, and final', async (body, reason, known) => {
    await consume(body as object);
    expect(await row()).toMatchObject({ state: 'rejected', reason, requestedAt: sentAt, isFannedOut: true, ...known });
    expect(world.deliveries.sent).toEqual([]);
  });

  test('because its dataset is empty is final, too', async () => {
    world.catalogue.addDataset('EGAD1', { released: true, fileIds: [] });
    expect(await consume()).toMatchObject({ outcome: 'rejected', reason: 'nothing_to_export' });
    expect(await row()).toMatchObject({ state: 'rejected', reason: 'nothing_to_export' });
  });
});
