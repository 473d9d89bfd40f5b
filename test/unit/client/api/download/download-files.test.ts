import { randomBytes } from 'node:crypto';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FileLock } from '../../../../../lib/client/api/download/disk/lock.ts';
import type { DownloadEvent } from '../../../../../lib/client/api/download/events.ts';
import { all, DownloadWorld } from '../../../../helpers/download-world.ts';

const mebibyte = 1024 * 1024;
/** Four pieces, of at least 2 MiB except the last. */
const large = randomBytes(6 * mebibyte + 1);
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

  test('needs one request for a small file, and one for the addresses of many; lists once, and keeps its connections', async () => {
    for (let index = 0; index < 230; index += 1) world.server.put(`file-${index}.c4gh`, small);
    const before = world.faults.connections;
    expect((await world.download({ parallel: 4 })).error).toBeUndefined();
    expect(requestsTo('storage')).toHaveLength(230);
    expect(requestsTo('api').filter(({ path }) => path.endsWith('/files'))).toHaveLength(1);
    const { askedTogether: groups } = world.server;
    expect(groups.flat()).toHaveLength(230);
    expect(Math.max(...groups.map((names) => names.length))).toBeLessThanOrEqual(100);
    expect(requestsTo('api')).toHaveLength(1 + groups.length);
    expect(groups.length).toBeLessThanOrEqual(6);
    expect(world.faults.connections - before).toBeLessThanOrEqual(12);
  });

  test('asks for each address if the service knows no other way', async () => {
    for (let index = 0; index < 120; index += 1) world.server.put(`file-${index}.c4gh`, small);
    world.server.givesMany = false;
    const before = world.faults.connections;
    expect((await world.download({ parallel: 4 })).error).toBeUndefined();
    expect(world.server.count(/^GET .*stream\//)).toBe(120);
    expect(world.server.count(/^POST .*stream$/)).toBe(1);
    // No more at once than files are downloaded and prepared.
    expect(world.faults.connections - before).toBeLessThanOrEqual(16);
  });

  test('a request for many addresses that fails delays nothing: each is asked for alone', async () => {
    for (let index = 0; index < 20; index += 1) world.server.put(`file-${index}.c4gh`, small);
    world.faults.break({ on: 'api', path: /\/stream$/, fault: { kind: 'answer', status: 500 }, times: 100 });
    expect((await world.download()).error).toBeUndefined();
    expect(world.server.count(/^GET .*stream\//)).toBe(20);
    expect(world.pauses).toEqual([]);
  });

  test('a request for many addresses waits for no answer when the user stops', async () => {
    for (let index = 0; index < 20; index += 1) world.server.put(`file-${index}.c4gh`, small);
    world.faults.break({ on: 'api', path: /\/stream$/, fault: { kind: 'delay', milliseconds: 60_000 } });
    const abort = new AbortController();
    const files = await all(world.proxy().list());
    const ended = world.download({ files, signal: abort.signal });
    await expect.poll(() => requestsTo('api').some(({ path }) => path.endsWith('/stream'))).toBe(true);
    abort.abort();
    expect((await ended).error).toMatchObject({ code: 'interrupted' });
  });

  test('one of many files that is gone fails alone', async () => {
    for (let index = 0; index < 9; index += 1) world.server.put(`file-${index}.c4gh`, small);
    const listed = await all(world.proxy().list());
    world.server.remove('file-4.c4gh');
    const report = await world.download({ files: listed });
    expect(report.files.filter(({ outcome }) => outcome === 'failed')).toMatchObject([
      { name: 'file-4.c4gh', error: { code: 'not_found' } },
    ]);
    expect(world.server.count(/^GET .*stream\//)).toBe(1);
  });

  test.each([
    [2, true, true],
    [2, false, false],
    [1, true, false],
  ])('with %d at once and sync %s, more begin while some wait for the disk: %s', async (parallel, sync, more) => {
    for (let index = 0; index < 20; index += 1) world.server.put(`file-${index}.c4gh`, small);
    expect((await world.download({ parallel, sync })).error).toBeUndefined();
    const types = world.events.map(({ type }) => type);
    const begun = types.slice(0, types.indexOf('finished')).filter((type) => type === 'started');
    expect(begun.length > parallel).toBe(more);
  });

  test('sends neither credentials to storage nor addresses anywhere else', async () => {
    world.server.put('large.c4gh', large);
    world.clockStepMs = 10_000;
    const journals: string[] = [];
    world.faults.break({ on: 'storage', fault: { kind: 'cut', bytes: 1_250_000 }, times: 3 });
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
      expect(headers).toMatchObject({ 'proxy-authorization': 'Bearer good-visa', 'x-ga4gh-visa': 'good-visa' });
    }
    expect(eventsOf('retrying').length).toBeGreaterThan(0);
    expect(journals.join()).not.toMatch(/very-secret|good-visa|good-password/);
  });

  test('asks for no bytes of a version it does not know', async () => {
    world.server.put('large.c4gh', large);
    await world.download();
    const [first, ...others] = requestsTo('storage').map(({ headers }) => headers['if-match']);
    expect(first).toBeUndefined();
    expect(others).toHaveLength(3);
    expect(new Set(others).size).toBe(1);
    expect(others[0]).toMatch(/^"[0-9a-f]{32}"$/);
  });
});

describe('trouble on the way', () => {
  test.each([1, 3])('connections that are cut are taken up where they broke (%d connections)', async (connections) => {
    world.server.put('large.c4gh', large);
    world.faults.break(
      { on: 'storage', fault: { kind: 'cut', bytes: 0 } },
      { on: 'storage', fault: { kind: 'refuse' }, skip: 1 },
      { on: 'storage', fault: { kind: 'cut', bytes: 750_001 }, skip: 2, times: 4 },
      { on: 'storage', fault: { kind: 'answer', status: 500 }, skip: 4 },
    );
    await expectWhole(large, { connections });
    // Bytes before a cut are not fetched again, except those that were on their way.
    expect(world.storageBytes).toBeLessThan(large.length + mebibyte);
  });

  test('a connection on which nothing comes is replaced', async () => {
    world.server.put('large.c4gh', large);
    world.faults.break({ on: 'storage', fault: { kind: 'stall', bytes: 250_000 }, times: 2 });
    await expectWhole(large, { stallMs: 300 });
  });

  test('an address that expires is replaced at once, without a pause', async () => {
    world.server.put('large.c4gh', large);
    let expired = 0;
    const report = await world.download({
      onEvent: (event) => {
        world.events.push(event);
        if (event.type === 'progress' && expired++ % 10 === 0)
          world.faults.break({ on: 'storage', fault: { kind: 'expire' } });
      },
    });
    expect(report.error).toBeUndefined();
    expect((await world.read('large.c4gh')).equals(large)).toBe(true);
    expect(world.server.count(/stream\/large/)).toBeGreaterThan(1);
    // Those of 100 ms precede another connection.
    expect(world.pauses.filter((milliseconds) => milliseconds !== 100)).toEqual([]);
  });

  test('an address that is about to expire is not begun with', async () => {
    world.server.put('large.c4gh', large);
    world.server.urlLifetimeMs = 150;
    world.faults.break({ on: 'storage', fault: { kind: 'delay', milliseconds: 200 }, skip: 1, times: 2 });
    expect((await world.download()).error).toBeUndefined();
    expect(world.server.count(/stream/)).toBeGreaterThan(1);
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

  test('something that does not let ranges through is named; one connection does without', async () => {
    world.server.put('large.c4gh', large);
    world.server.ranges = false;
    expect((await world.download()).error).toMatchObject({
      code: 'protocol',
      remedy: expect.stringContaining('--connections 1'),
    });
    await expectWhole(large, { connections: 1 });
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
    expect(eventsOf('restarted')).toHaveLength(1);
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
        if (event.type !== 'progress' || last === eventsOf('restarted').length) return;
        last = eventsOf('restarted').length;
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
  /** Far from its end, also when megabytes come between the wish to stop and the stop. */
  const large = randomBytes(16 * mebibyte + 1);
  /** Stops after so many bytes. */
  async function stopAfter(bytes: number, connections = 3) {
    const stop = new AbortController();
    let kept = 0;
    return await world.download({
      connections,
      signal: stop.signal,
      onEvent: (event) => {
        if (event.type === 'progress') kept += event.bytes;
        if (kept >= bytes) stop.abort();
      },
    });
  }

  test.each([1, 3])('is gone on with by the next one (%d connections)', async (connections) => {
    world.server.put('large.c4gh', large);
    for (const bytes of [1, mebibyte, mebibyte]) {
      expect((await stopAfter(bytes, connections)).error).toMatchObject({ code: 'interrupted' });
      expect(await world.names()).toEqual(['large.c4gh.part', 'large.c4gh.part.json']);
      expect(await readFile(join(world.folder, 'large.c4gh.part.json'), 'utf8')).not.toMatch(/secret|http|127\.0/);
    }
    world.faults.reset();
    await expectWhole(large, { connections });
    expect(await world.names()).toEqual(['large.c4gh']);
    const kept = Math.max(...eventsOf('started').map((event) => (event.type === 'started' ? event.kept : 0)));
    expect(kept).toBeGreaterThanOrEqual(2 * mebibyte);
    expect(world.storageBytes).toBe(large.length - kept);
  });

  test.each([
    ['a date alone', ['etag'], 5],
    ['nothing', ['etag', 'last-modified'], 0],
  ])('of which %s can be recognized continues only when that is enough', async (_what, without, mebibytes) => {
    world.server.put('large.c4gh', large);
    world.server.without = without;
    await stopAfter(5 * mebibyte);
    await expectWhole(large);
    const kept = eventsOf('started').map((event) => (event.type === 'started' ? event.kept : 0));
    expect(Math.max(...kept)).toBeGreaterThanOrEqual(mebibytes * mebibyte);
    if (mebibytes === 0) expect(kept).toEqual([0]);
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
    ['whose journal is incomplete', writes('large.c4gh.part.json', '{"format":1}')],
    ['whose part was shortened', writes('large.c4gh.part', 'short')],
  ])('%s starts again', async (_what, change) => {
    world.server.put('large.c4gh', large);
    await stopAfter(5 * mebibyte);
    await expectWhole(await change());
    expect(await world.names()).toEqual(['large.c4gh']);
  });

  test('between naming the file and forgetting its journal has done its work', async () => {
    world.server.put('large.c4gh', large);
    await stopAfter(5 * mebibyte);
    const journal = await readFile(join(world.folder, 'large.c4gh.part.json'));
    await world.download();
    await writeFile(join(world.folder, 'large.c4gh.part.json'), journal);
    const { error, files } = await world.download();
    expect(error).toBeUndefined();
    expect(files[0]?.outcome).toBe('skipped');
    expect(await world.names()).toEqual(['large.c4gh']);
  });

  test('writes its journal while it downloads: each byte in the journal is in the part file', async () => {
    world.server.put('large.c4gh', large);
    world.clockStepMs = 4_000;
    const seen: Promise<void>[] = [];
    const look = async () => {
      const text = await world.read('large.c4gh.part.json').catch(() => undefined);
      if (!text) return;
      const { done } = JSON.parse(text.toString()) as { done: [number, number][] };
      const part = await world.read('large.c4gh.part').catch(() => undefined);
      for (const [start, end] of part ? done : []) {
        expect(part?.subarray(start, end).equals(large.subarray(start, end))).toBe(true);
      }
      looks += done.length > 0 ? 1 : 0;
    };
    let looks = 0;
    await world.download({ onEvent: (event) => event.type === 'progress' && seen.push(look()) });
    await Promise.all(seen);
    expect(looks).toBeGreaterThan(3);
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

  test('is skipped when told, without a request, if it can be whole', async () => {
    world.server.put('a.c4gh', small);
    await writeFile(path(), small);
    expect((await world.download({ existing: 'skip' })).files).toMatchObject([{ outcome: 'skipped' }]);
    expect(world.server.count(/stream|bucket/)).toBe(0);
    await writeFile(path(), small.subarray(1));
    expect((await world.download({ existing: 'skip' })).error).toMatchObject({
      code: 'local_disk',
      message: expect.stringContaining('9999'),
    });
  });

  test('is replaced when told, in one step', async () => {
    world.server.put('a.c4gh', small);
    await writeFile(path(), 'mine');
    const { ino } = await stat(path());
    expect((await world.download({ existing: 'force' })).error).toBeUndefined();
    expect((await world.read('a.c4gh')).equals(small)).toBe(true);
    expect((await stat(path())).ino).not.toBe(ino);
  });

  test.each(['fail', 'skip', 'force'] as const)('a folder of that name is named (%s)', async (existing) => {
    world.server.put('a.c4gh', small);
    await mkdir(path());
    const { error } = await world.download({ existing });
    expect(error).toMatchObject({ code: 'local_disk', message: expect.stringContaining('is a folder') });
  });

  test('a file where the folder should be stops the run', async () => {
    world.server.put('a.c4gh', small);
    await writeFile(path(), '');
    const { error } = await world.download({ folder: path() });
    expect(error).toMatchObject({ code: 'local_disk', remedy: expect.stringContaining('--output') });
  });

  test('a folder that is not there is made', async () => {
    world.server.put('a.c4gh', small);
    expect((await world.download({ folder: join(world.folder, 'new', 'one') })).error).toBeUndefined();
    expect((await world.read('new/one/a.c4gh')).equals(small)).toBe(true);
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
