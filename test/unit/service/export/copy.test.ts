import { beforeEach, describe, expect, test, vi } from 'vitest';
import { crcOf, formatCrc } from '../../../../lib/common/crc64nvme.ts';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { encryptHeader } from '../../../../lib/crypt4gh/index.ts';
import type { MultipartUpload, UploadedPart } from '../../../../lib/service/archive/ports.ts';
import { ExportPipeline, subject } from '../../../helpers/export-pipeline.ts';
import { vectorKey } from '../../../helpers/export-world.ts';

const MiB = 1024 * 1024;
const TiB = 2 ** 40;
const key = `${outboxPrefix(subject)}/EGAF1-EGAF1.bin.c4gh`;
/** Its container has a part that is sent, and four that are copied. */
const body = Buffer.alloc(
  23 * MiB,
  Uint8Array.from({ length: 251 }, (_, n) => n),
);
const older = { id: '11111111-1111-4111-8111-111111111111', at: new Date('2026-11-21T09:00:00.000Z') };
const newer = { id: '22222222-2222-4222-8222-222222222222', at: new Date('2026-11-21T09:00:00.001Z') };

let world: ExportPipeline;
beforeEach(async () => {
  world = await ExportPipeline.open();
  world.copySize = 5 * MiB;
  await world.addDataset('EGAD1', { EGAF1: body });
  await send(older);
});

async function send(more: Parameters<ExportPipeline['request']>[1]): Promise<void> {
  world.request(undefined, more);
  await world.consume();
  world.calls.names.length = 0;
}

/** One delivery. @param looks how often it may look at the clock before its time is over */
async function deliver(looks = Number.POSITIVE_INFINITY) {
  let left = looks;
  world.remainingMs = () => {
    left -= 1;
    return left >= 0 ? 900_000 : 19_000;
  };
  const [message] = await world.stage('fileExports');
  world.remainingMs = () => 900_000;
  return message?.end;
}
/** It looks before it begins, before and after it reads for part 1, and before each copy: two parts are made. */
const interrupted = 4;
/** Let the message be delivered once more. */
const again = () => world.put('fileExports', { requestId: older.id, fileId: 'EGAF1' });

const count = (name: string) => world.calls.names.filter((one) => one === name).length;
const row = () => world.fileRow(older.id, 'EGAF1');
const uploads = () => [...world.outbox.uploads.keys()];
const staged = { outcome: 'staged', bytes: 23 * MiB + 124 };
const temporary = { outcome: 'failed', error: { code: 'temporarily_unavailable' } };

test('S3 copies all but the first 5 MiB, the row has what it needs, and the checksum follows from that of the body', async () => {
  world.archive.set('bodies/EGAF1', body, 'zcNft/9AuPI=');
  expect(await deliver()).toMatchObject(staged);
  const { bytes = Buffer.alloc(0), metadata } = world.outbox.objects.get(key) ?? {};
  expect(Buffer.from(bytes.subarray(124)).equals(body)).toBe(true);
  expect(metadata).toMatchObject({ 'request-id': older.id, 'file-id': 'EGAF1', 'dataset-id': 'EGAD1' });
  expect([world.outbox.bytesReceived, world.outbox.bytesCopied]).toEqual([5 * MiB, 18 * MiB + 124]);
  expect([count('upload.uploadPart'), count('upload.copyPart'), count('upload.complete')]).toEqual([1, 4, 1]);
  const crc64nvme = formatCrc(await crcOf(bytes));
  expect(await row()).toMatchObject({ state: 'staged', outbox_key: key, crc64nvme, upload_id: null, upload_for: null });
  expect([uploads(), world.queues.deliveries.length]).toEqual([[], 1]);
});

describe('out of time', () => {
  test('with a new part, its message is sent again, and the next delivery makes the other parts', async () => {
    expect(await deliver(interrupted)).toEqual({ outcome: 'continued' });
    expect(await row()).toMatchObject({ state: 'sent', reason: null, upload_id: 'upload-1' });
    expect(world.queues.fileExports).toMatchObject([{ receives: 0 }]);
    expect(await deliver()).toMatchObject(staged);
    expect([count('outbox.startUpload'), count('upload.uploadPart'), count('upload.copyPart')]).toEqual([1, 1, 4]);
    expect(Buffer.from(world.outbox.objects.get(key)?.bytes.subarray(124) ?? []).equals(body)).toBe(true);
  });

  test('without a new part, it fails, and keeps the parts of before', async () => {
    await deliver(interrupted);
    expect(await deliver(1)).toMatchObject(temporary);
    expect(await row()).toMatchObject({ state: 'sent', reason: 'temporarily_unavailable', upload_id: 'upload-1' });
    expect(world.queues.fileExports).toMatchObject([{ receives: 1 }]);
    await deliver();
    expect(count('upload.uploadPart')).toBe(1);
  });

  test('48 TiB are copied over all invocations, each part once', async () => {
    const size = 48 * TiB;
    await world.database.sql(`update sda.files set archive_file_size = ${size}`);
    world.copySize = undefined;
    const head = { size, etag: '"a"', lastModified: new Date(0), metadata: {} };
    vi.spyOn(world.archive, 'head').mockResolvedValue(head);
    vi.spyOn(world.archive, 'read').mockImplementation(async (_, { start, end }) => Buffer.alloc(end - start));
    const parts = new Map<number, UploadedPart & { readonly bytes: number }>();
    let copies = 0;
    const store = async (partNumber: number, bytes: number) => {
      if (parts.has(partNumber)) throw new Error('a part was made twice');
      const part = { partNumber, etag: `"${partNumber}"`, crc64nvme: undefined, bytes };
      parts.set(partNumber, part);
      return part;
    };
    const upload: MultipartUpload = {
      uploadId: 'virtual',
      uploadPart: (partNumber, bytes) => store(partNumber, bytes.length),
      copyPart: (partNumber, _, { start, end }) => {
        copies += 1;
        return store(partNumber, end - start);
      },
      parts: async () => [...parts.values()],
      complete: async (named, bytes) => {
        expect(named.map(({ partNumber }) => partNumber)).toEqual(Array.from({ length: 10_000 }, (_, n) => n + 1));
        expect([...parts.values()].reduce((sum, part) => sum + part.bytes, 0)).toBe(bytes);
        return 'written';
      },
      abort: () => Promise.reject(new Error('not called')),
    };
    vi.spyOn(world.outbox, 'startUpload').mockResolvedValue(upload);
    vi.spyOn(world.outbox, 'upload').mockReturnValue(upload);
    // No part of 5 GiB begins in the last 235 seconds of 15 minutes. Here each takes half a second.
    world.remainingMs = () => 900_000 - copies * 500;
    const ends: (string | undefined)[] = [];
    while (world.queues.fileExports.length > 0) {
      copies = 0;
      ends.push((await world.stage('fileExports'))[0]?.end.outcome);
    }
    expect(ends).toEqual([...Array.from({ length: 7 }, () => 'continued'), 'staged']);
    expect((await row()).bytes).toBe(size + 124);
  });
});

describe('an upload for other bytes is of no use: it is aborted, and another one begins', () => {
  test.each([
    ['the body was replaced', () => world.archive.set('bodies/EGAF1', Buffer.from(body).fill(1))],
    ['the header is another one', () => {
      const { publicKey } = vectorKey('alice');
      const header = encryptHeader({ dataKeys: [Buffer.alloc(32, 9)], recipients: [publicKey] });
      return world.database.sql(`update sda.files set header = '${Buffer.from(header).toString('hex')}'`);
    }],
    ['the parts have another size', () => Object.assign(world, { copySize: 6 * MiB })],
  ])('%s', async (_, happening) => {
    await deliver(interrupted);
    happening();
    expect(await deliver(interrupted)).toEqual({ outcome: 'continued' });
    expect([uploads(), (await row()).upload_id]).toEqual([['upload-2'], 'upload-2']);
    expect(await deliver()).toMatchObject(staged);
    const bytes = world.outbox.objects.get(key)?.bytes.subarray(124) ?? [];
    expect(Buffer.from(bytes).equals(world.archive.object({ archiveLocation: undefined, archiveFilePath: 'bodies/EGAF1' }).bytes)).toBe(true);
  }); // biome-ignore format: one table

  test('the body was replaced while it was copied: it comes back', async () => {
    world.calls.after('upload.uploadPart', () => world.archive.set('bodies/EGAF1', Buffer.from(body).fill(1)));
    expect(await deliver()).toMatchObject(temporary);
    expect(await deliver()).toMatchObject(staged);
    expect(uploads()).toEqual([]);
  });
});

describe('two deliveries', () => {
  test('that begin at once: one upload is in the row, and the other one is aborted', async () => {
    again();
    const ends = await Promise.all([world.stage('fileExports'), world.stage('fileExports')]);
    expect(ends.flat().map(({ end }) => end.outcome).sort()).toEqual(['failed', 'staged']); // biome-ignore format: short
    expect([count('outbox.startUpload'), count('upload.abort'), uploads()]).toEqual([2, 1, []]);
    expect(await world.statesOf(older.id)).toEqual(['EGAF1: staged']);
  });

  test.each([0, 6, 12])('on one upload, the second one %i calls later: one container', async (later) => {
    await deliver(interrupted);
    again();
    const first = world.stage('fileExports');
    const from = world.calls.names.length;
    while (world.calls.names.length < from + later) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([first, world.stage('fileExports')]);
    await world.deliverAll();
    expect([world.outboxNames(), uploads()]).toEqual([['EGAF1-EGAF1.bin.c4gh'], []]);
    expect(await world.requestRow(older.id)).toMatchObject({ state: 'complete' });
    expect(world.deadLetters).toEqual([]);
  });

  test('a part that the other one copied again has another tag: the delivery comes back and lists the parts', async () => {
    await deliver(interrupted);
    world.calls.after('upload.parts', async () => {
      const part = world.outbox.uploads.get('upload-1')?.parts.get(1);
      await world.outbox.upload(key, {}, 'upload-1').uploadPart(1, part?.bytes ?? Buffer.alloc(0));
    });
    expect(await deliver()).toMatchObject(temporary);
    expect((await row()).upload_id).toBe('upload-1');
    expect(await deliver()).toMatchObject(staged);
    expect(count('upload.copyPart')).toBe(4);
  });

  test('the other one has completed the upload: its container is found', async () => {
    await deliver(interrupted);
    again();
    // The delivery has seen no container yet.
    world.calls.after('outbox.head', () => deliver());
    expect(await deliver()).toMatchObject(staged);
    expect([world.outbox.writes, count('outbox.startUpload')]).toEqual([1, 1]);
  });

  test('the other one stages the file while this one copies: its container stays', async () => {
    again();
    world.calls.after('upload.copyPart', () => deliver());
    expect(await deliver()).toEqual({ outcome: 'ended' });
    expect(await world.statesOf(older.id)).toEqual(['EGAF1: staged']);
    expect([world.outboxNames(), uploads()]).toEqual([['EGAF1-EGAF1.bin.c4gh'], []]);
  });
});

describe('two requests', () => {
  test('the newer one replaces the container, and the older one then copies nothing', async () => {
    await deliver();
    await send(newer);
    expect(await deliver()).toMatchObject(staged);
    expect(world.outbox.objects.get(key)?.metadata).toMatchObject({ 'request-id': newer.id });
    await world.database.sql(`update data_out.request_files set state = 'sent' where request_id = '${older.id}'`);
    world.calls.names.length = 0;
    again();
    expect(await deliver()).toEqual({ outcome: 'superseded', by: newer.id });
    expect(count('upload.copyPart')).toBe(0);
  });

  test('the newer one wins while the older one is copied: that upload is aborted', async () => {
    await send(newer);
    world.calls.after('upload.copyPart', () => deliver());
    expect(await deliver()).toEqual({ outcome: 'superseded', by: newer.id });
    expect([await world.statesOf(newer.id), uploads()]).toEqual([['EGAF1: staged'], []]);
  });
});

describe('asked once more before it becomes visible: nothing is left', () => {
  test.each([
    ['the dataset is deprecated', 'rejected', () => world.event('EGAD1', 'deprecated')],
    ['the recipient is denied', 'rejected', () => world.denied.push(subject)],
    ['the row has ended', 'ended', () =>
      world.database.sql("update data_out.request_files set state = 'withdrawn'")],
    ['the row is gone', 'ended', () => world.database.sql('delete from data_out.request_files')],
  ])('%s', async (_, outcome, happening) => {
    world.calls.after('upload.copyPart', happening);
    expect(await deliver()).toMatchObject({ outcome });
    expect([count('upload.complete'), world.outbox.objects.size, uploads()]).toEqual([0, 0, []]);
  }); // biome-ignore format: one table

  test('also the parts of an earlier delivery go', async () => {
    await deliver(interrupted);
    await world.event('EGAD1', 'deprecated');
    expect(await deliver()).toMatchObject({ outcome: 'rejected', reason: 'not_released' });
    expect(uploads()).toEqual([]);
  });
});

test.each([
  ['a checksum that the copied bytes do not have', () => world.archive.set('bodies/EGAF1', body, 'AAAAAAAAAAA=')],
  ['a body of another size', () => world.archive.set('bodies/EGAF1', body.subarray(1))],
  ['no body', () => world.archive.delete('bodies/EGAF1')],
])('damage ends the file, and leaves no upload: %s', async (_, damage) => {
  await deliver(interrupted);
  damage();
  expect(await deliver()).toMatchObject({ outcome: 'given_up', reason: 'archive_damaged' });
  expect(await row()).toMatchObject({ state: 'given_up', reason: 'archive_damaged', upload_id: null });
  expect([world.outbox.objects.size, uploads(), world.queues.fileExports]).toEqual([0, [], []]);
});
