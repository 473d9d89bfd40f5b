import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FileLock } from '../../../../../lib/client/api/download/disk/lock.ts';
import type { DownloadEvent } from '../../../../../lib/client/api/download/download-file.ts';
import { all, DownloadWorld } from '../../../../helpers/download-world.ts';
import type { FaultKind } from '../../../../helpers/fault-proxy.ts';

const kibibyte = 1024;
/** The client takes 8 MiB. */
const pieceBytes = 128 * kibibyte;
/** Three pieces. */
const large = randomBytes(2 * pieceBytes + 1);
const small = randomBytes(10_000);

let world: DownloadWorld;
beforeAll(async () => {
  world = await DownloadWorld.start();
});
afterEach(() => world.clear());
afterAll(() => world?.stop());

const eventsOf = (type: DownloadEvent['type']) => world.events.filter((event) => event.type === type);
const requestsTo = (on: 'api' | 'storage') => world.faults.requests.filter((request) => request.on === on);

/** Downloads `large.c4gh`, and expects this content of it. */
async function expectWhole(content: Buffer, options: Parameters<DownloadWorld['download']>[0] = {}): Promise<void> {
  expect((await world.download(options)).error).toBeUndefined();
  expect((await world.read('large.c4gh')).equals(content)).toBe(true);
}

describe('a run', () => {
  test('brings every file whole under its name, and leaves nothing else', async () => {
    const contents = { 'large.c4gh': large, 'empty.c4gh': Buffer.alloc(0), 'with space é.c4gh': small };
    for (const [name, content] of Object.entries(contents)) world.server.put(name, content);
    const { files, error } = await world.download();
    expect(error).toBeUndefined();
    expect(files.map(({ name, outcome }) => [name, outcome])).toEqual(
      Object.keys(contents).map((name) => [name, 'downloaded']),
    );
    for (const [name, content] of Object.entries(contents)) expect((await world.read(name)).equals(content)).toBe(true);
    expect(await world.names()).toEqual(Object.keys(contents).sort());
    expect(world.storageBytes).toBe(large.length + small.length);
  });

  test('needs two requests for a small file, its address and its bytes; lists once, and keeps its connections', async () => {
    for (let index = 0; index < 50; index += 1) world.server.put(`file-${index}.c4gh`, small);
    const before = world.faults.connections;
    expect((await world.download({ parallel: 4 })).error).toBeUndefined();
    expect(requestsTo('storage')).toHaveLength(50);
    expect(requestsTo('api')).toHaveLength(1 + 50);
    expect(world.faults.connections - before).toBeLessThanOrEqual(12);
  });

  test('asks for the address of a file once, when its first piece is begun', async () => {
    for (const name of ['a.c4gh', 'b.c4gh']) world.server.put(name, large);
    const addresses = () => world.server.count(/stream/);
    const asked: number[] = [];
    world.server.held = async (name) => {
      if (name === 'a.c4gh') asked.push(addresses());
    };
    expect((await world.download({ parallel: 1 })).error).toBeUndefined();
    expect([asked, addresses()]).toEqual([[1, 1, 1], 2]);
  });

  test('sends neither credentials to storage nor addresses anywhere else', async () => {
    world.server.put('large.c4gh', large);
    const journals: string[] = [];
    world.faults.break({ on: 'storage', fault: { kind: 'cut', bytes: 20_000 }, times: 3 });
    await world.download({
      onEvent: (event) => {
        world.events.push(event);
        journals.push(
          JSON.stringify(event, (_key, value: unknown) => (value instanceof Error ? `${value.stack}` : value)),
        );
      },
    });
    for (const { headers } of requestsTo('storage')) {
      for (const name of ['authorization', 'proxy-authorization', 'x-ga4gh-visa'])
        expect(headers).not.toHaveProperty(name);
    }
    for (const { headers } of requestsTo('api')) {
      expect(headers).toMatchObject({ 'x-ga4gh-visa': 'good-visa' });
    }
    expect(eventsOf('retrying').length).toBeGreaterThan(0);
    expect(journals.join()).not.toMatch(/very-secret|good-visa|good-password/);
  });

  test('asks for no bytes of a version it does not know', async () => {
    world.server.put('large.c4gh', large);
    await world.download();
    const [first, ...others] = requestsTo('storage').map(({ headers }) => headers['if-match']);
    expect(first).toBeUndefined();
    expect(others).toHaveLength(2);
    expect(new Set(others).size).toBe(1);
    expect(others[0]).toMatch(/^"[0-9a-f]{32}"$/);
  });
});

describe('trouble on the way', () => {
  test.each([1, 3])('connections that are cut are taken up where they broke (%d at once)', async (parallel) => {
    const content = randomBytes(16 * 1024 * kibibyte + 1);
    world.server.put('large.c4gh', content);
    world.faults.break(
      { on: 'storage', fault: { kind: 'cut', bytes: 0 } },
      { on: 'storage', fault: { kind: 'refuse' }, skip: 1 },
      { on: 'storage', fault: { kind: 'cut', bytes: 750_001 }, skip: 2, times: 4 },
      { on: 'storage', fault: { kind: 'answer', status: 500 }, skip: 4 },
    );
    await expectWhole(content, { parallel, pieceBytes: undefined });
    // Bytes before a cut are not fetched again, except those that were on their way.
    expect(world.storageBytes).toBeLessThan(content.length + 1024 * kibibyte);
  });

  test('a file without a tag is not taken up: its bytes could be of another version', async () => {
    world.server.put('a.c4gh', small);
    world.server.without = ['etag'];
    world.faults.break({ on: 'storage', fault: { kind: 'cut', bytes: 5_000 } });
    expect((await world.download()).error).toBeUndefined();
    expect(requestsTo('storage').map(({ headers }) => headers.range)).toEqual([undefined, undefined]);
    expect((await world.read('a.c4gh')).equals(small)).toBe(true);
  });

  test('a connection on which nothing comes is replaced', async () => {
    world.server.put('large.c4gh', large);
    world.faults.break({ on: 'storage', fault: { kind: 'stall', bytes: 4_000 }, times: 2 });
    await expectWhole(large, { stallMs: 300 });
  });

  test('an address that expires is replaced at once, without a pause or a remark', async () => {
    world.server.put('large.c4gh', large);
    world.server.held = async () => {
      if (requestsTo('storage').length === 1) world.faults.break({ on: 'storage', fault: { kind: 'expire' } });
    };
    await expectWhole(large, { parallel: 1 });
    expect(world.server.count(/stream\/large/)).toBe(2);
    expect(world.pauses).toEqual([]);
    expect(eventsOf('retrying')).toEqual([]);
  });

  test('after a lost network, a new address is asked for', async () => {
    world.server.put('a.c4gh', small);
    world.faults.break({ on: 'storage', fault: { kind: 'refuse' }, times: 3 });
    expect((await world.download()).error).toBeUndefined();
    expect(world.server.count(/stream/)).toBe(4);
  });

  test('each failure is retried in one place: ten attempts in all', async () => {
    world.server.put('a.c4gh', small);
    world.faults.break({ on: 'api', path: /stream/, fault: { kind: 'answer', status: 503 }, times: 1_000 });
    expect((await world.download()).error).toMatchObject({ code: 'unavailable' });
    expect(requestsTo('api').filter(({ path }) => path.includes('/stream/'))).toHaveLength(10);
  });

  test('storage that refuses every address ends as "unavailable", and leaves nothing', async () => {
    world.server.put('small.c4gh', small);
    world.faults.break({ on: 'storage', fault: { kind: 'answer', status: 403 }, times: 1_000 });
    const { error } = await world.download({ retries: { attempts: 3, firstMs: 1, longestMs: 1 } });
    expect(error).toMatchObject({ code: 'unavailable', remedy: expect.stringContaining('operator') });
    expect(await world.names()).toEqual([]);
  });

  test('Retry-After is waited for, of the API and of storage', async () => {
    world.server.put('small.c4gh', small);
    const busy = (status: number, seconds: string) =>
      ({ kind: 'answer', status, headers: { 'retry-after': seconds } }) as const;
    world.faults.break({ on: 'api', path: /stream/, fault: busy(429, '7') }, { on: 'storage', fault: busy(503, '9') });
    expect((await world.download()).error).toBeUndefined();
    expect(world.pauses.map((pause) => Math.floor(pause / 1000))).toEqual([7, 9]);
  });

  const page = { kind: 'answer', status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' } as const;
  test.each<[string, FaultKind]>([
    ['the whole file instead of a part', { kind: 'no range' }],
    ['a login page', page],
    ['an empty reply', { kind: 'answer', status: 200, headers: { 'content-length': '0' } }],
    ['another range', { kind: 'answer', status: 206, headers: { 'content-range': 'bytes 0-0/16777217' }, body: 'x' }],
    [
      'a range of a file of another size',
      { kind: 'answer', status: 206, headers: { 'content-range': 'bytes 0-8388607/9' } },
    ],
    ['fewer bytes than the file has', { kind: 'answer', status: 200, body: 'other bytes' }],
  ])('%s, once, is retried, also in the middle and with a resumed file', async (_what, fault) => {
    world.server.put('large.c4gh', large);
    for (const skip of [0, 2]) {
      world.faults.break({ on: 'storage', fault, skip });
      await expectWhole(large, { parallel: 1, force: true });
    }
    expect(eventsOf('retrying').length).toBeGreaterThanOrEqual(2);
  });

  test('a login page that stays is named with the place it came from', async () => {
    world.server.put('a.c4gh', small);
    world.faults.break({ on: 'storage', fault: page, times: 1_000 });
    const { host } = new URL(world.faults.url);
    expect((await world.download()).error).toMatchObject({
      code: 'unavailable',
      message: `a.c4gh: ${host} sent a web page instead of the file`,
    });
  });

  test('without ranges, all of a file comes in one reply', async () => {
    world.server.put('large.c4gh', large);
    world.server.ranges = false;
    await expectWhole(large);
    // The first reply of each worker is given up.
    expect(requestsTo('storage').length).toBeLessThanOrEqual(3);
  });

  test('a small file without a length comes whole', async () => {
    world.server.put('a.c4gh', small);
    world.server.without = ['content-length'];
    expect((await world.download()).error).toBeUndefined();
    expect((await world.read('a.c4gh')).equals(small)).toBe(true);
  });
});

describe('a file that changes', () => {
  test('under a download is begun again', async () => {
    world.server.put('large.c4gh', large);
    const other = randomBytes(large.length);
    let isChanged = false;
    const report = await world.download({
      onEvent: (event) => {
        world.events.push(event);
        if (event.type === 'progress' && !isChanged) world.server.put('large.c4gh', other);
        isChanged ||= event.type === 'progress';
      },
    });
    expect(report.error).toBeUndefined();
    expect((await world.read('large.c4gh')).equals(other)).toBe(true);
    const replaced = world.events.filter((event) => event.type === 'retrying' && /replaced/.test(event.error.message));
    expect(replaced).toHaveLength(1);
    expect(await world.names()).toEqual(['large.c4gh']);
  });

  test('between listing and download is downloaded as it is now', async () => {
    world.server.put('a.c4gh', small);
    world.server.put('a.c4gh', large);
    const files = [{ name: 'a.c4gh', size: small.length, modified: undefined, expires: undefined }];
    const { files: results, error } = await world.download({ files });
    expect(error).toBeUndefined();
    expect(results[0]?.size).toBe(large.length);
    expect((await world.read('a.c4gh')).equals(large)).toBe(true);
  });

  test('again and again is given up', async () => {
    world.server.put('large.c4gh', large);
    let last = -1;
    const { error } = await world.download({
      onEvent: (event) => {
        world.events.push(event);
        if (event.type !== 'progress' || last === eventsOf('retrying').length) return;
        last = eventsOf('retrying').length;
        const other = Buffer.from(large);
        other[0] = last;
        world.server.put('large.c4gh', other);
      },
    });
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('replaced') });
    expect(await world.names()).toEqual([]);
  });
});

describe('a run that is stopped', () => {
  /** Seven pieces. */
  const large = randomBytes(6 * pieceBytes + 1);
  /** Stops after so many bytes. */
  async function stopAfter(bytes: number, parallel = 3) {
    const stop = new AbortController();
    let kept = 0;
    return await world.download({
      parallel,
      signal: stop.signal,
      onEvent: (event) => {
        if (event.type === 'progress') kept += event.bytes;
        if (kept >= bytes) stop.abort();
      },
    });
  }

  test.each([1, 3])('is gone on with by the next one (%d at once)', async (parallel) => {
    world.server.put('large.c4gh', large);
    for (const bytes of [(1.75 + 0.75 * parallel) * pieceBytes, 1.125 * pieceBytes]) {
      expect((await stopAfter(bytes, parallel)).error).toMatchObject({ code: 'interrupted' });
      expect(await world.names()).toEqual(['large.c4gh.part', 'large.c4gh.part.json']);
      expect(await readFile(join(world.folder, 'large.c4gh.part.json'), 'utf8')).not.toMatch(/secret|http|127\.0/);
    }
    world.faults.reset();
    await expectWhole(large, { parallel });
    expect(await world.names()).toEqual(['large.c4gh']);
    const kept = lastKept();
    expect(kept).toBeGreaterThanOrEqual(pieceBytes);
    expect(world.storageBytes).toBe(large.length - kept);
  });

  const lastKept = () => Math.max(...eventsOf('started').map((event) => (event.type === 'started' ? event.kept : 0)));

  test('of a file without a tag starts again: its bytes could be of another version', async () => {
    world.server.put('large.c4gh', large);
    world.server.without = ['etag'];
    await stopAfter(2.5 * pieceBytes, 1);
    await expectWhole(large);
    expect(lastKept()).toBe(0);
  });

  test.each([
    ['were changed', (part: Buffer) => part.fill(0, 100, 200)],
    ['are gone', (part: Buffer) => part.subarray(0, 1.125 * pieceBytes)],
  ])('fetches noted pieces again whose bytes %s, as after a power cut, and no others', async (_what, change) => {
    world.server.put('large.c4gh', large);
    await stopAfter(2.5 * pieceBytes, 1);
    const path = join(world.folder, 'large.c4gh.part');
    await writeFile(path, change(await readFile(path)));
    world.faults.reset();
    await expectWhole(large);
    expect(world.storageBytes).toBe(large.length - lastKept() + pieceBytes);
  });

  const replaced = async () => {
    const other = randomBytes(large.length);
    world.server.put('large.c4gh', other);
    return other;
  };
  const writes = (name: string, text: string) => async () => {
    await writeFile(join(world.folder, name), text);
    return large;
  };
  test.each<[string, () => Promise<Buffer>]>([
    ['whose file has changed', replaced],
    ['whose journal is cut', writes('large.c4gh.part.json', '{')],
    ['whose journal is empty', writes('large.c4gh.part.json', '')],
    ['whose journal is incomplete', writes('large.c4gh.part.json', '{"etag":"x"}')],
    ['whose journal is of another file', writes('large.c4gh.part.json', '{"etag":"x","name":"other","size":786433}')],
    ['whose part was shortened', writes('large.c4gh.part', 'short')],
  ])('%s starts again', async (_what, change) => {
    world.server.put('large.c4gh', large);
    await stopAfter(2.5 * pieceBytes, 1);
    await expectWhole(await change());
    expect(await world.names()).toEqual(['large.c4gh']);
  });

  test('a journal without its part says nothing of an existing file', async () => {
    world.server.put('large.c4gh', large);
    await stopAfter(2.5 * pieceBytes, 1);
    await rm(join(world.folder, 'large.c4gh.part'));
    const other = Buffer.alloc(large.length);
    await writeFile(join(world.folder, 'large.c4gh'), other);
    expect((await world.download()).error).toMatchObject({ code: 'local_disk' });
    await expectWhole(large, { force: true });
    expect(await world.names()).toEqual(['large.c4gh']);
  });
});

describe('files that are on the disk already', () => {
  const path = () => join(world.folder, 'a.c4gh');

  test('is not touched without being told', async () => {
    world.server.put('a.c4gh', small);
    await writeFile(path(), 'mine');
    const { error } = await world.download();
    expect(error).toMatchObject({ code: 'local_disk', remedy: expect.stringContaining('--force') });
    expect((await world.read('a.c4gh')).toString()).toBe('mine');
    expect(world.server.count(/bucket/)).toBe(0);
  });

  test.each([false, true])('a folder of that name is named, with --force: %s', async (force) => {
    world.server.put('a.c4gh', small);
    await mkdir(path());
    const { error } = await world.download({ force });
    expect(error).toMatchObject({ code: 'local_disk', message: expect.stringContaining('is a folder') });
  });

  test('a part that another process works on is left alone', async () => {
    world.server.put('a.c4gh', small);
    await using _lock = await FileLock.acquire(`${path()}.part.lock`);
    expect((await world.download()).error).toMatchObject({
      code: 'local_disk',
      message: expect.stringContaining('another process'),
    });
    expect(await world.names()).toEqual(['a.c4gh.part.lock']);
  });
});

describe('of several files', () => {
  test('those that fail do not stop the others: "partial"', async () => {
    for (const name of ['a.c4gh', 'b.c4gh', 'c.c4gh']) world.server.put(name, small);
    const files = await all(world.proxy().list());
    world.server.remove('b.c4gh');
    const { error, files: results } = await world.download({ files });
    expect(error).toMatchObject({ code: 'partial', message: expect.stringContaining('1 of 3') });
    expect(results.map(({ outcome }) => outcome)).toEqual(['downloaded', 'failed', 'downloaded']);
    expect(results[1]?.error).toMatchObject({ code: 'not_found' });
    expect(await world.names()).toEqual(['a.c4gh', 'c.c4gh']);
  });

  test('hostile names and names that would be one file fail, and nothing is written outside', async () => {
    const names = ['../up.c4gh', 'a/b.c4gh', '.profile', 'same.c4gh', 'SAME.c4gh', 'fine.c4gh'];
    for (const name of names) world.server.put(name, small);
    const { files } = await world.download();
    expect(files.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name)).toEqual([
      '../up.c4gh',
      'a/b.c4gh',
      '.profile',
      'SAME.c4gh',
    ]);
    expect(await world.names()).toEqual(['fine.c4gh', 'same.c4gh']);
  });

  test('none is tried any more when the visa is refused', async () => {
    for (let index = 0; index < 30; index += 1) world.server.put(`${index}.c4gh`, small);
    const files = await all(world.proxy().list());
    world.visa = 'expired-visa';
    const { error, files: results } = await world.download({ files });
    expect(error).toMatchObject({ code: 'unauthenticated', message: expect.stringContaining('the visa has expired') });
    expect(results.every(({ outcome }) => outcome === 'failed')).toBe(true);
    expect(world.server.count(/stream/)).toBeLessThan(10);
  });
});
