import { beforeEach, describe, expect, test } from 'vitest';
import { DataOutError } from '../../../../lib/errors.ts';
import type { ArchivedFile } from '../../../../lib/service/archive/ports.ts';
import { assembled } from '../../../../lib/service/direct/assembled.ts';
import { containerOf, containerPart } from '../../../../lib/service/direct/container.ts';
import { collect } from '../../../helpers/crypt4gh-vectors.ts';
import { ExportWorld, vectorKey } from '../../../helpers/export-world.ts';
import { FakeDirectUrls } from '../../../helpers/fake-direct-urls.ts';
import { CrashError } from '../../../helpers/port-calls.ts';

const bob = vectorKey('bob');
const MiB = 1024 * 1024;
const large = 20 * MiB + 17;
const hour = 3_600_000;
const plenty = { requestId: '11111111-1111-4111-8111-111111111111', remainingMs: () => 300_000 };

let world: ExportWorld;
let urls: FakeDirectUrls;
beforeEach(() => {
  world = worldWith(large);
});

function worldWith(bodySize: number): ExportWorld {
  const body = Buffer.alloc(
    bodySize,
    Uint8Array.from({ length: 251 }, (_, index) => index),
  );
  const made = ExportWorld.of(body);
  urls = new FakeDirectUrls(() => made.outbox.now);
  return made;
}

async function file(): Promise<ArchivedFile> {
  const found = await world.catalogue.findReleasedFile({ fileId: 'EGAF1', datasetId: 'EGAD1' });
  if (!found) throw new Error('no file');
  return found;
}

const container = async (recipient = bob) => containerOf(await file(), recipient.publicKey, world.direct);
const dependencies = () => ({ ...world.direct, urls });
const assemble = async (made = container(), request = plenty) => assembled(await made, dependencies(), request);
const later = (ms: number) => {
  world.outbox.now = new Date(world.outbox.now.getTime() + ms);
};
const objects = () => [...world.outbox.objects];
const copied = () => world.calls.names.filter((name) => name === 'upload.copyPart').length;

describe('a container that is too large to be streamed', () => {
  test('becomes an object of exactly its bytes, all but 5 MiB of them copied inside S3', async () => {
    const made = await container();
    const { url, expiresAt, reused } = await assembled(made, dependencies(), plenty);
    const [[key, object] = ['', undefined], ...others] = objects();
    expect(others).toEqual([]);
    expect(key).toMatch(/^direct\/[0-9a-f]{64}\/EGAF1-sample\.bam\.c4gh$/);
    expect(url).toBe(`https://s3.example/outbox/${key}?signature=s`);
    expect(expiresAt).toEqual(new Date('2026-11-21T10:15:00Z'));
    expect(reused).toBe(false);
    expect(world.outbox.bytesReceived).toBe(5 * MiB);
    expect(object?.bytes.length).toBe(124 + large);
    expect((await collect(made.stream(0, made.size))).equals(object?.bytes ?? Buffer.alloc(0))).toBe(true);
  });

  test('names its recipient and its file, and nothing secret', async () => {
    await assemble();
    expect(objects()[0]?.[1].metadata).toEqual({
      'request-id': plenty.requestId,
      'requested-at': '2026-11-21T10:00:00.000Z',
      'file-id': 'EGAF1',
      'dataset-id': 'EGAD1',
      // sha256sum of the 32 bytes of bob's public key.
      'recipient-key': 'a4551fac8d8aa507ced170425dc003d728cb69a9f828d40ba8db394ce2b14bd0',
    });
  });

  test('may be part of a file: the copies begin where its segments do', async () => {
    world = worldWith(300 * 65_564);
    const made = await containerPart(
      await file(),
      bob.publicKey,
      { start: 65_536 * 7, end: 65_536 * 200 },
      world.direct,
    );
    expect(made.size).toBe(124 + 193 * 65_564);
    await assembled(made, dependencies(), plenty);
    expect(copied()).toBeGreaterThan(0);
    expect((await collect(made.stream(0, made.size))).equals(objects()[0]?.[1].bytes ?? Buffer.alloc(0))).toBe(true);
  });
});

describe('asked for again, it', () => {
  test('is the same object: nothing is copied, nothing written', async () => {
    const first = await assemble();
    const copies = copied();
    const again = await assemble();
    expect(again).toEqual({ ...first, reused: true });
    expect([copied(), world.outbox.writes]).toEqual([copies, 1]);
  });

  test('at the same moment ends as one object for both callers', async () => {
    const both = await Promise.all([assemble(), assemble(container(), { ...plenty, requestId: 'another' })]);
    expect(both[0]?.url).toBe(both[1]?.url);
    expect(both.map(({ reused }) => reused).sort()).toEqual([false, true]);
    expect([objects().length, world.outbox.writes, world.outbox.uploads.size]).toEqual([1, 1, 0]);
  });

  test('is used while it outlasts the URL, and made again before the lifecycle rule can take it', async () => {
    await assemble();
    // The rule may remove it 24 hours after it was made; a URL lives for 15 minutes.
    later(23 * hour);
    expect((await assemble()).reused).toBe(true);
    later(hour - 10 * 60_000);
    expect((await assemble()).reused).toBe(false);
    expect([objects().length, world.outbox.writes]).toEqual([1, 2]);
    later(23 * hour);
    expect((await assemble()).reused).toBe(true);
  });

  test('is made again when the object there has another size', async () => {
    await assemble();
    const [[key, object] = ['', undefined]] = objects();
    if (!object) throw new Error('no object');
    world.outbox.objects.set(key, { ...object, bytes: object.bytes.subarray(1) });
    expect((await assemble()).reused).toBe(false);
    expect(objects()[0]?.[1].bytes.length).toBe(124 + large);
  });

  test('is another object after the archived body was replaced', async () => {
    await assemble();
    world.archive.set('bodies/EGAF1', Buffer.alloc(large));
    expect((await assemble()).reused).toBe(false);
    expect(objects()).toHaveLength(2);
  });
});

test('the life of the URL begins when the container exists', async () => {
  const { isReleased } = world.catalogue;
  world.catalogue.isReleased = (id) => {
    later(4 * 60_000);
    return isReleased.call(world.catalogue, id);
  };
  expect((await assemble()).expiresAt).toEqual(new Date('2026-11-21T10:19:00Z'));
});

describe('nothing is visible, and no upload left,', () => {
  const nothingLeft = () => {
    expect(objects()).toEqual([]);
    expect(world.outbox.uploads.size).toBe(0);
    expect(urls.signed).toEqual([]);
  };

  test('when the dataset is withdrawn meanwhile: the caller is refused like any other', async () => {
    const made = container();
    await made;
    world.catalogue.setReleased('EGAD1', false);
    await expect(assemble(made)).rejects.toEqual(
      new DataOutError(
        'forbidden',
        'No visa that was presented gives access to this. Present one for the dataset, once it is released.',
      ),
    );
    nothingLeft();
  });

  test('when the invocation has less than 20 seconds left', async () => {
    let calls = 0;
    const remainingMs = () => {
      calls += 1;
      return calls < 3 ? 20_000 : 19_999;
    };
    await expect(assemble(container(), { ...plenty, remainingMs })).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
    nothingLeft();
  });

  test('when the body is replaced while it is copied', async () => {
    const made = container();
    await made;
    world.archive.set('bodies/EGAF1', Buffer.alloc(large));
    await expect(assemble(made)).rejects.toThrow('PreconditionFailed');
    nothingLeft();
  });

  test('when the archive and the catalogue disagree', async () => {
    const wrong = containerOf({ ...(await file()), archiveFileSize: large + 1 }, bob.publicKey, world.direct);
    await expect(assemble(wrong)).rejects.toMatchObject({ code: 'archive_damaged' });
    nothingLeft();
  });
});

test('a crash at any call leaves either nothing visible or the whole object, and the next request is served', async () => {
  const whole = 124 + large;
  for (const when of ['before', 'after'] as const) {
    for (let call = 0; ; call += 1) {
      world = worldWith(large);
      const made = await container();
      world.calls.crashAt(call, when);
      await assembled(made, dependencies(), plenty).catch((error: unknown) => {
        if (!(error instanceof CrashError)) throw error;
      });
      expect(objects().every(([, { bytes }]) => bytes.length === whole)).toBe(true);
      if (!world.calls.revive()) break;
      await assembled(made, dependencies(), plenty);
      expect(objects().map(([, { bytes }]) => bytes.length)).toEqual([whole]);
      expect(call).toBeLessThan(50);
    }
  }
});

test('a conflict that leaves no container behind is a temporary failure', async () => {
  world = worldWith(7 * MiB);
  const { outbox } = world;
  const made = await container();
  const contested = {
    head: outbox.head.bind(outbox),
    put: () => Promise.resolve('conflict' as const),
    startUpload: outbox.startUpload.bind(outbox),
  };
  const failure = { code: 'temporarily_unavailable', retryAfterSeconds: 5 };
  await expect(assembled(made, { ...dependencies(), outbox: contested }, plenty)).rejects.toMatchObject(failure);
});
