import { describe, expect, test } from 'vitest';
import { crcOf, formatCrc } from '../../../../lib/common/crc64nvme.ts';
import { unavailable } from '../../../../lib/errors.ts';
import { ExportWorld, vector, vectorKey } from '../../../helpers/export-world.ts';
import { CrashError } from '../../../helpers/port-calls.ts';
import { stageFile } from '../../../helpers/stage-one.ts';

const MiB = 1024 * 1024;
const recipient = 'ab'.repeat(32);
const outboxKey = `${recipient}/EGAF1-sample.bam.c4gh`;
const message = {
  messageId: '99999999-9999-4999-8999-999999999999',
  sentAt: new Date('2026-11-21T09:00:01.000Z'),
  body: JSON.stringify({
    requestId: '11111111-1111-4111-8111-111111111111',
    requestedAt: '2026-11-21T09:00:00.000Z',
    fileId: 'EGAF1',
    datasetId: 'EGAD1',
    recipient,
    publicKey: Buffer.from(vectorKey('bob').publicKey).toString('base64'),
  }),
};
const fresh = { redelivered: false, remainingMs: () => 900_000 };
const redelivered = { ...fresh, redelivered: true };

const copySize = 5 * MiB;
/** Two copies and the part sent: 5 MiB − header, 5 MiB, the rest. */
const large = Buffer.alloc(11 * MiB, 'body');
const small = vector('split/body.bin');

const worldWith = (body: Uint8Array) => ExportWorld.of(body, 'sample.bam');
const stagingOf = (world: ExportWorld) => ({ ...world.staging, copySize });

function expectWhole(world: ExportWorld, body: Uint8Array): void {
  const bytes = world.outbox.objects.get(outboxKey)?.bytes ?? new Uint8Array();
  expect(bytes.length).toBe(124 + body.length);
  expect(Buffer.compare(bytes.subarray(124), body)).toBe(0);
}

/** Whatever is visible at any time is whole. */
function expectNothingHalf(world: ExportWorld, body: Uint8Array): void {
  if (world.outbox.objects.size > 0) expectWhole(world, body);
}

test.each([
  // denied?, find, keys, read, put, record.
  ['small', small, 6],
  // denied?, find, take, head, head, keys, start, begin, read, part 1, two copies, save, released?, denied?, complete, forget,
  // record.
  ['large', large, 18],
])('a crash at any call, before or after its effect: a redelivery ends whole (%s body)', async (_, body, calls) => {
  for (const when of ['before', 'after'] as const) {
    for (let at = 0; ; at += 1) {
      const world = worldWith(body);
      world.calls.crashAt(at, when);
      const first = await stageFile(message, stagingOf(world), fresh).catch((error: unknown) => error);
      expectNothingHalf(world, body);
      if (!world.calls.revive()) {
        expect(at).toBe(calls);
        break;
      }
      expect(first).toBeInstanceOf(CrashError);
      // The dead invocation's message comes back when its visibility timeout ends, long after 15 minutes.
      world.outbox.now = new Date(world.outbox.now.getTime() + 90 * 60_000);
      const again = await stageFile(message, stagingOf(world), redelivered);
      expect(again.outcome).toMatch(/^(already_)?staged$/);
      expectWhole(world, body);
      expect(world.outbox.uploads.size).toBe(0);
      expect(world.rows).toEqual([expect.objectContaining({ event: 'staged', bytes: 124 + body.length })]);
    }
  }
});

test.each([
  ['small', small],
  ['large', large],
])(
  'a failure of any call is thrown, leaves no upload but the recorded one, and the next delivery succeeds (%s body)',
  async (_, body) => {
    for (const when of ['before', 'after'] as const) {
      for (let at = 0; ; at += 1) {
        const world = worldWith(body);
        const failure = unavailable('down');
        world.calls.failAt(at, when, failure);
        const first = await stageFile(message, stagingOf(world), fresh).catch((error: unknown) => error);
        expectNothingHalf(world, body);
        if (!world.calls.revive()) break;
        // We do not know an upload that began although the answer was a failure. The next delivery finds it.
        const last = world.calls.names[at];
        const recorded = await world.copies.uploadsTo(outboxKey);
        if (last !== 'outbox.startUpload') {
          expect([...world.outbox.uploads].every(({ uploadId }) => recorded.has(uploadId))).toBe(true);
        }
        expect(first).toBe(failure);
        world.outbox.now = new Date(world.outbox.now.getTime() + 16 * 60_000);
        await stageFile(message, stagingOf(world), redelivered);
        expectWhole(world, body);
        expect(world.outbox.uploads.size).toBe(0);
      }
    }
  },
);

test('a redelivery does not abort an upload that may still live', async () => {
  const world = worldWith(large);
  await world.outbox.startUpload(outboxKey, {});
  world.outbox.now = new Date(world.outbox.now.getTime() + 15 * 60_000);
  await stageFile(message, stagingOf(world), redelivered);
  expect(world.outbox.uploads.size).toBe(1);
  expectWhole(world, large);
});

test('a redelivery aborts what a dead delivery left, also when another one has written the container since', async () => {
  const world = worldWith(large);
  await world.outbox.startUpload(outboxKey, {});
  world.outbox.now = new Date(world.outbox.now.getTime() + 90 * 60_000);
  await stageFile(message, stagingOf(world), fresh);
  expect(await stageFile(message, stagingOf(world), redelivered)).toMatchObject({ outcome: 'already_staged' });
  expect(world.outbox.uploads.size).toBe(0);
});

test('a first delivery looks for no old upload', async () => {
  const world = worldWith(small);
  await stageFile(message, stagingOf(world), fresh);
  expect(world.calls.names).not.toContain('outbox.abortUploads');
});

test('with less than 20 s left nothing is begun', async () => {
  const world = worldWith(small);
  const soon = { redelivered: false, remainingMs: () => 19_999 };
  await expect(stageFile(message, stagingOf(world), soon)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  expect(world.calls.names).toEqual([]);
});

test('time that runs out between two copies: nothing is visible, and the next delivery continues at once', async () => {
  const world = worldWith(large);
  const delivery = {
    redelivered: false,
    remainingMs: () => (world.calls.names.includes('upload.uploadPart') ? 19_999 : 20_000),
  };
  const stopped: unknown = await stageFile(message, stagingOf(world), delivery).catch((error: unknown) => error);
  expect(stopped).toMatchObject({ code: 'temporarily_unavailable' });
  expect(stopped).toMatchObject({ retryAfterSeconds: 0 });
  expect(world.calls.names).not.toContain('upload.copyPart');
  expect(world.calls.names.slice(-2)).toEqual(['copies.save', 'ledger.record retrying']);
  expect(world.outbox.objects.size).toBe(0);
  expect(world.outbox.bytesReceived).toBe(5 * MiB);
  await stageFile(message, stagingOf(world), redelivered);
  expectWhole(world, large);
  // Part 1 was not sent again.
  expect(world.outbox.bytesReceived).toBe(5 * MiB);
  expect(world.outbox.uploads.size).toBe(0);
  expect(world.copies.rows.size).toBe(0);
});

test('a body that is replaced between its parts is not spliced', async () => {
  const world = worldWith(large);
  const delivery = {
    redelivered: false,
    remainingMs: () => {
      if (world.calls.names.includes('upload.uploadPart'))
        world.archive.set('bodies/EGAF1', Buffer.alloc(large.length));
      return 900_000;
    },
  };
  await expect(stageFile(message, stagingOf(world), delivery)).rejects.toThrow('PreconditionFailed');
  expect(world.outbox.objects.size).toBe(0);
  // The next delivery aborts the upload that was begun for the old body.
  await stageFile(message, stagingOf(world), redelivered);
  expectWhole(world, Buffer.alloc(large.length));
  expect(world.outbox.uploads.size).toBe(0);
});

test('five deliveries without a new part: the sixth gives up at once, and a message from the dead letters restarts', async () => {
  const world = worldWith(large);
  const down = unavailable('down');
  const { startUpload } = world.outbox;
  world.outbox.startUpload = () => Promise.reject(down);
  await expect(stageFile(message, stagingOf(world), fresh)).rejects.toBe(down);
  for (let delivery = 2; delivery <= 5; delivery += 1) {
    await expect(stageFile(message, stagingOf(world), redelivered)).rejects.toBe(down);
  }
  world.outbox.startUpload = startUpload;
  await expect(stageFile(message, stagingOf(world), redelivered)).rejects.toMatchObject({
    message: expect.stringContaining('5 deliveries'),
    retryAfterSeconds: 0,
  });
  expect(world.calls.names.slice(-2)).toEqual(['copies.take', 'ledger.record given_up']);
  await stageFile(message, stagingOf(world), fresh);
  expectWhole(world, large);
});

test.each([
  ['small', small],
  ['large', large],
])(
  'a body that is missing gives its file up at the first delivery, with the name of the object (%s body)',
  async (_, body) => {
    const world = worldWith(body);
    const givenUp = { event: 'given_up', fileId: 'EGAF1', reason: 'archive_damaged' };
    world.archive.delete('bodies/EGAF1');
    // Also at deliveries after the fifth, which bring the message to the dead letters.
    for (let delivery = 1; delivery <= 7; delivery += 1) {
      const error: unknown = await stageFile(message, stagingOf(world), delivery === 1 ? fresh : redelivered).catch(
        (reason: unknown) => reason,
      );
      expect(error).toMatchObject({ code: 'archive_damaged' });
      expect(error).toHaveProperty('message', expect.stringContaining('"archive/bodies/EGAF1"'));
      expect(error).toHaveProperty('message', expect.stringContaining('file EGAF1'));
      expect(world.rows).toEqual([expect.objectContaining(givenUp)]);
    }
    world.archive.set('bodies/EGAF1', body);
    await stageFile(message, stagingOf(world), fresh);
    expectWhole(world, body);
  },
);

describe('the checksum of the archived body', () => {
  const crcOfBody = async (body: Uint8Array) => formatCrc(await crcOf(body));
  const [shorter] = [Buffer.alloc(9 * MiB, 'body')];

  test.each([
    ['small', small],
    ['large', shorter],
  ])('gives that of the container, which S3 compares and the audit trail keeps (%s body)', async (_, body) => {
    const world = worldWith(body);
    world.archive.set('bodies/EGAF1', body, await crcOfBody(body));
    await stageFile(message, stagingOf(world), fresh);
    const container = world.outbox.objects.get(outboxKey)?.bytes ?? new Uint8Array();
    expect(world.rows).toEqual([expect.objectContaining({ checksum: `crc64nvme:${await crcOfBody(container)}` })]);
  });

  test.each([
    ['small', small],
    ['large', shorter],
  ])('that does not fit: nothing is visible, and the operator looks (%s body)', async (_, body) => {
    const world = worldWith(body);
    world.archive.set('bodies/EGAF1', body, await crcOfBody(Buffer.from('other bytes')));
    await expect(stageFile(message, stagingOf(world), fresh)).rejects.toMatchObject({ code: 'archive_damaged' });
    expect(world.outbox.objects.size).toBe(0);
    expect(world.outbox.uploads.size).toBe(0);
    expect(world.rows).toEqual([expect.objectContaining({ event: 'given_up', reason: 'archive_damaged' })]);
  });
});
