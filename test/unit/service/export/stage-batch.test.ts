import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { entryHash } from '../../../../lib/contract/deny-list.ts';
import { type ErrorCode, unavailable } from '../../../../lib/errors.ts';
import type { StageDependencies } from '../../../../lib/service/export/export-order.ts';
import { stageFiles } from '../../../../lib/service/export/stage.ts';
import { ExportWorld, vector, vectorKey } from '../../../helpers/export-world.ts';

const MiB = 1024 * 1024;
const requestId = '11111111-1111-4111-8111-111111111111';
const recipient = 'ab'.repeat(32);
const ids = Array.from({ length: 10 }, (_, n) => `F${n}`);
const body = vector('split/body.bin');
/** Header of 124 bytes for one reader, and the body. */
const containerBytes = 124 + 66_057;
const deniedVisa = { iss: 'https://issuer.example', jti: 'visa-9' };
const ample = () => 900_000;

let world: ExportWorld;
beforeEach(() => {
  world = new ExportWorld();
  world.catalogue.addDataset('EGAD1', { released: true, fileIds: ids });
  for (const id of ids) world.addFile(id, body);
});
afterEach(() => {
  vi.useRealTimers();
});

const message = (fileId: string, overrides: Record<string, unknown> = {}) => ({
  messageId: '99999999-9999-4999-8999-999999999999',
  sentAt: new Date('2026-11-21T09:00:01.000Z'),
  receive: { count: 1, isLast: false },
  body: JSON.stringify({
    requestId,
    requestedAt: '2026-11-21T09:00:00.000Z',
    fileId,
    datasetId: 'EGAD1',
    recipient,
    publicKey: Buffer.from(vectorKey('bob').publicKey).toString('base64'),
    ...overrides,
  }),
});
const keyOf = (id: string) => `${recipient}/${id}-${id}.bin.c4gh`;
const headerSha256Of = (id: string) =>
  createHash('sha256')
    .update(world.outbox.objects.get(keyOf(id))!.bytes.subarray(0, 124))
    .digest('hex');
const stagedIds = () => ids.filter((id) => world.outbox.objects.has(keyOf(id)));
const rowsOf = (event: string) => world.rows.filter((row) => row.event === event).map(({ fileId }) => fileId);
const others = (id: string) => ids.filter((other) => other !== id);

/** The ports of the world, with one file's body or container in trouble. */
function troubled(trouble: {
  readonly read?: (path: string) => Promise<void> | undefined;
  readonly put?: (key: string) => Promise<void> | undefined;
}): StageDependencies {
  const { archive, outbox } = world;
  return {
    ...world.staging,
    archive: {
      head: (address) => archive.head(address),
      read: (address, range) => archive.read(address, range),
      readWhole: async (address, size, header) => {
        await trouble.read?.(address.archiveFilePath);
        return archive.readWhole(address, size, header);
      },
    },
    outbox: {
      head: (key) => outbox.head(key),
      put: async (key, bytes, metadata, replaces) => {
        await trouble.put?.(key);
        return outbox.put(key, bytes, metadata, replaces);
      },
      startUpload: (key, metadata) => outbox.startUpload(key, metadata),
      resumeUpload: (key, metadata, uploadId) => outbox.resumeUpload(key, metadata, uploadId),
      abortUploads: (key, olderThan, kept) => outbox.abortUploads(key, olderThan, kept),
      abortUpload: (key, uploadId) => outbox.abortUpload(key, uploadId),
    },
  };
}
const down = () => Promise.reject(unavailable('down'));

test('ten small files: one query, one insert, one read and one write a file', async () => {
  const ends = await stageFiles(
    ids.map((id) => message(id)),
    world.staging,
    ample,
  );
  expect(ends).toEqual(
    ids.map((fileId) => ({
      status: 'fulfilled',
      value: {
        outcome: 'staged',
        requestId,
        fileId,
        bytes: containerBytes,
        headerSha256: headerSha256Of(fileId),
      },
    })),
  );
  const counts = Object.groupBy(world.calls.names, (name) => name.split(' ')[0] ?? '');
  expect(Object.entries(counts).map(([name, calls = []]) => [name, calls.length])).toEqual([
    ['denyList.current', 10],
    ['catalogue.findReleasedFiles', 1],
    ['archiveKeys.candidates', 10],
    ['archive.readWhole', 10],
    ['outbox.put', 10],
    ['ledger.record', 1],
  ]);
  expect(stagedIds()).toEqual(ids);
  expect(rowsOf('staged')).toEqual(ids);
});

/** Breaks one file. @returns the ports to stage with */
type Break = (id: string) => StageDependencies;

const comingBack: [string, Break, ErrorCode][] = [
  [
    'its GET',
    (id) => troubled({ read: (path) => (path === `bodies/${id}` ? down() : undefined) }),
    'temporarily_unavailable',
  ],
  ['its PUT', (id) => troubled({ put: (key) => (key === keyOf(id) ? down() : undefined) }), 'temporarily_unavailable'],
  [
    'its header, which no archive key opens',
    (id) => {
      const file = world.catalogue.files.get(id)!;
      world.catalogue.files.set(id, { ...file, header: Buffer.from('not a header at all') });
      return world.staging;
    },
    'archive_damaged',
  ],
  [
    'its row, which is damaged',
    (id) => {
      world.catalogue.damaged.add(id);
      return world.staging;
    },
    'archive_damaged',
  ],
  [
    'its body, which has another size',
    (id) => {
      world.archive.set(`bodies/${id}`, body.subarray(1));
      return world.staging;
    },
    'archive_damaged',
  ],
];

describe.each(comingBack)('%s', (_, break_, code) => {
  test.each(ids)('of %s: that message alone comes back, all others are staged and logged', async (id) => {
    const ends = await stageFiles(
      ids.map((one) => message(one)),
      break_(id),
      ample,
    );
    expect(ids.filter((_id, at) => ends[at]?.status === 'rejected')).toEqual([id]);
    expect(ends.find((end) => end.status === 'rejected')?.reason).toMatchObject({ code });
    expect(stagedIds()).toEqual(others(id));
    expect(rowsOf('staged')).toEqual(others(id));
    expect(rowsOf('given_up')).toEqual(code === 'archive_damaged' ? [id] : []);
  });
});

describe.each<[string, string, Break]>([
  [
    'no longer in the released dataset',
    'not_released',
    (id) => {
      world.catalogue.datasets.get('EGAD1')?.fileIds.splice(ids.indexOf(id), 1);
      return world.staging;
    },
  ],
  [
    'its visa is denied',
    'visa_denied',
    () => {
      world.deniedEntries.push(deniedVisa);
      return world.staging;
    },
  ],
])('%s', (_, reason, break_) => {
  test.each(ids)('%s is rejected alone, all others are staged and logged', async (id) => {
    const ends = await stageFiles(
      ids.map((one) => message(one, one === id ? { dependsOn: [entryHash(deniedVisa)] } : {})),
      break_(id),
      ample,
    );
    expect(ends.every(({ status }) => status === 'fulfilled')).toBe(true);
    expect(world.rows.filter((row) => row.reason === reason).map(({ fileId }) => fileId)).toEqual([id]);
    expect(stagedIds()).toEqual(others(id));
    expect(rowsOf('staged')).toEqual(others(id));
  });
});

test.each(ids)('%s waits for an answer: it comes back in time, and its late answer writes nothing', async (id) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const late = Promise.withResolvers<void>();
  const dependencies = troubled({ read: (path) => (path === `bodies/${id}` ? late.promise : undefined) });
  const staging = stageFiles(
    ids.map((one) => message(one)),
    dependencies,
    ample,
  );
  while (stagedIds().length < 9) await new Promise((resolve) => setImmediate(resolve));
  expect(world.rows).toEqual([]);
  await vi.advanceTimersByTimeAsync(3 * 60_000);
  const ends = await staging;
  expect(ids.filter((_id, at) => ends[at]?.status === 'rejected')).toEqual([id]);
  expect(ends[ids.indexOf(id)]).toMatchObject({ reason: { code: 'temporarily_unavailable' } });
  expect(rowsOf('staged')).toEqual(others(id));
  late.resolve();
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(stagedIds()).toEqual(others(id));
});

describe('the audit rows', () => {
  test.each(ids)(
    'the database refuses that of %s: that message alone comes back, and its next delivery ends',
    async (id) => {
      world.recorded.refused.add(id);
      const ends = await stageFiles(
        ids.map((one) => message(one)),
        world.staging,
        ample,
      );
      expect(ids.filter((_id, at) => ends[at]?.status === 'rejected')).toEqual([id]);
      expect(stagedIds()).toEqual(ids);
      expect(rowsOf('staged')).toEqual(others(id));
      world.recorded.refused.clear();
      const [again] = await stageFiles(
        [{ ...message(id), receive: { count: 2, isLast: false } }],
        world.staging,
        ample,
      );
      expect(again).toMatchObject({ value: { outcome: 'already_staged', bytes: containerBytes } });
      expect(rowsOf('staged').sort()).toEqual(ids);
      expect(world.outbox.writes).toBe(10);
    },
  );

  test('are not written while the database is down: every message comes back after one attempt', async () => {
    const ledger = {
      record: vi.fn(() => Promise.reject(unavailable('down'))),
      finalizable: vi.fn(),
    };
    const ends = await stageFiles(
      ids.map((id) => message(id)),
      { ...world.staging, ledger },
      ample,
    );
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
    expect(ledger.record).toHaveBeenCalledTimes(1);
  });
});

test.each(['denyList.current', 'catalogue.findReleasedFiles'])(
  'without an answer of %s nothing is staged, and every message it is for comes back',
  async (name) => {
    const fail = () => Promise.reject(unavailable('down'));
    const dependencies = world.staging;
    const ends = await stageFiles(
      ids.map((id) => message(id)),
      name === 'denyList.current'
        ? { ...dependencies, denied: fail }
        : {
            ...dependencies,
            catalogue: Object.assign(Object.create(world.catalogue), { findReleasedFiles: fail }),
          },
      ample,
    );
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
    expect(world.outbox.objects.size).toBe(0);
    expect(world.rows).toEqual([]);
  },
);

test('a message that is not a file export is rejected alone', async () => {
  const ends = await stageFiles([{ ...message('F0'), body: '{' }, message('F1')], world.staging, ample);
  expect(ends).toMatchObject([
    { value: { outcome: 'rejected', reason: 'malformed_message' } },
    { value: { outcome: 'staged' } },
  ]);
});

describe('one result, whichever queue a message came by', () => {
  const large = Buffer.alloc(9 * MiB, 'body');

  test('a file that grows between two deliveries keeps the container of the first', async () => {
    expect(await stageFiles([message('F0')], world.staging, ample)).toMatchObject([{ value: { outcome: 'staged' } }]);
    world.addFile('F0', large);
    expect(await stageFiles([message('F0')], world.staging, ample)).toMatchObject([
      { value: { outcome: 'already_staged', bytes: containerBytes } },
    ]);
    expect(world.outbox.writes).toBe(1);
    expect(world.rows).toEqual([expect.objectContaining({ event: 'staged', bytes: containerBytes })]);
  });

  test('a file that shrinks between two deliveries keeps the container of the first', async () => {
    world.addFile('F0', large);
    await stageFiles([message('F0')], world.staging, ample);
    world.addFile('F0', body);
    expect(await stageFiles([message('F0')], world.staging, ample)).toMatchObject([
      { value: { outcome: 'already_staged', bytes: 124 + 9 * MiB } },
    ]);
    expect(world.rows).toEqual([expect.objectContaining({ event: 'staged', bytes: 124 + 9 * MiB })]);
  });

  test('both deliveries at once, of a file that changes its size meanwhile: one container, one row of it', async () => {
    for (let lead = 0; lead < 24; lead += 1) {
      world = new ExportWorld();
      world.catalogue.addDataset('EGAD1', { released: true, fileIds: ['F0'] });
      world.addFile('F0', large);
      const first = stageFiles([message('F0')], world.staging, ample);
      for (let turn = 0; turn < lead; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      world.addFile('F0', body);
      const ends = await Promise.all([first, stageFiles([message('F0')], world.staging, ample)]);
      const staged = ends.flat().filter((end) => end.status === 'fulfilled' && end.value.outcome === 'staged');
      expect(staged).toHaveLength(1);
      expect(world.outbox.writes).toBe(1);
      expect(world.outbox.uploads.size).toBe(0);
      const bytes = world.outbox.objects.get(keyOf('F0'))?.bytes.length;
      const stagedRows = world.rows.filter(({ event }) => event === 'staged');
      expect(stagedRows).toEqual([expect.objectContaining({ bytes })]);
    }
  });

  test('the same message twice in one batch', async () => {
    const ends = await stageFiles([message('F0'), message('F0')], world.staging, ample);
    expect(ends.map((end) => end.status === 'fulfilled' && end.value.outcome).sort()).toEqual([
      'already_staged',
      'staged',
    ]);
    expect(world.rows).toHaveLength(1);
  });
});
