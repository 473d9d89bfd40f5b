import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { DamagedBodyError, decryptSegments, encryptSegments, SegmentWorkers } from '../../../../lib/crypt4gh/index.ts';
import {
  collect,
  copied,
  generatedPlaintext,
  inChunks,
  inOneMemory,
  outcomeOf,
} from '../../../helpers/crypt4gh-vectors.ts';

const dataKey = new Uint8Array(32).fill(1);
const otherKey = new Uint8Array(32).fill(2);
const plaintext = generatedPlaintext('workers', 9 * 65_536 + 100);

/** Different bytes at each call, the same at each run. */
function counting() {
  let calls = 0;
  return (size: number) => {
    calls += 1;
    return new Uint8Array(size).fill(calls);
  };
}

const body = await collect(encryptSegments([plaintext], { dataKey, random: counting() }));
const workers = new SegmentWorkers({ threads: 2, batchSegments: 2 });
afterAll(() => workers.close());

describe('several threads', () => {
  test.each([999, Number.POSITIVE_INFINITY])('encrypt to the bytes of one, from chunks of %d', async (size) => {
    const output = workers.encryptSegments(inChunks(plaintext, size), { dataKey, random: counting() });
    const segments: Uint8Array[] = [];
    for await (const segment of output) segments.push(segment);
    expect(segments.map(({ length }) => length)).toEqual([...Array.from({ length: 9 }, () => 65_564), 128]);
    expect(Buffer.concat(segments).equals(body)).toBe(true);
  });

  test.each([999, Number.POSITIVE_INFINITY])('decrypt in order, from chunks of %d bytes', async (size) => {
    const bytes = await collect(workers.decryptSegments(inChunks(body, size), { dataKeys: [otherKey, dataKey] }));
    expect(bytes.equals(plaintext)).toBe(true);
  });
});

describe('in memory that is used again', () => {
  const source = (bytes: Buffer) => inOneMemory(inChunks(bytes, 50_000));
  const reuse = { reuseMemory: true };

  test.each([
    ['several threads', workers],
    ['one thread', { encryptSegments, decryptSegments }],
  ])('%s give out what an edit list keeps, and nothing from a damaged segment on', async (_, cipher) => {
    const damaged = Buffer.from(body);
    damaged[5 * 65_564 + 20]! ^= 1;
    const options = { dataKeys: [dataKey], editList: [10n, 65_536n, 20n, 300_000n], ...reuse };
    const { bytes, error } = await outcomeOf(copied(cipher.decryptSegments(source(damaged), options)));
    const kept = [plaintext.subarray(10, 65_546), plaintext.subarray(65_566, 5 * 65_536)];
    expect(bytes.equals(Buffer.concat(kept))).toBe(true);
    expect(error).toMatchObject({ code: 'segment-authentication-failed', segment: 5 });
  });

  test('a chunk is gone when the next one was asked for, and stays without that option', async () => {
    for (const [options, length] of [
      [reuse, 0],
      [{}, 65_536],
    ] as const) {
      const chunks = decryptSegments([body], { dataKeys: [dataKey], ...options });
      const first = (await chunks.next()).value as Uint8Array;
      await chunks.next();
      expect(first.length).toBe(length);
    }
  });
});

describe('errors and edit lists', () => {
  const options = { dataKeys: [dataKey] };
  const damaged = Buffer.from(body);
  damaged[5 * 65_564 + 20]! ^= 1;

  test.each<[string, Buffer, { editList?: bigint[]; expectedSize?: number }]>([
    ['a damaged segment', damaged, {}],
    ['a damaged segment that is skipped', damaged, { editList: [0n, 10n, 131_072n, 10n, 262_144n] }],
    ['a cut body of known size', body.subarray(0, 3 * 65_564), { expectedSize: plaintext.length }],
    ['a body beyond the known size', body, { expectedSize: 70_000 }],
    ['an edit list that ends early', body, { editList: [100_000n, 100_000n] }],
  ])('of %s are as on one thread, after the same bytes', async (_, bytes, more) => {
    const chunks = () => inChunks(bytes, 50_000);
    const expected = await outcomeOf(decryptSegments(chunks(), { ...options, ...more }));
    const outcome = await outcomeOf(workers.decryptSegments(chunks(), { ...options, ...more }));
    expect(outcome.bytes.equals(expected.bytes)).toBe(true);
    expect(outcome.error).toEqual(expected.error);
    if (expected.error !== undefined) expect(outcome.error).toBeInstanceOf(DamagedBodyError);
  });
});

test('only so much is read ahead as the threads can have under way', async () => {
  let pulled = 0;
  let closed = false;
  async function* source() {
    try {
      for (;;) {
        pulled += 1;
        yield body.subarray(0, 65_564);
      }
    } finally {
      closed = true;
    }
  }
  const output = workers.decryptSegments(source(), { dataKeys: [dataKey] });
  await output.next();
  // Two threads, two batches each, two segments in each.
  expect(pulled).toBe(8);
  await output.return();
  expect(closed).toBe(true);
});

describe('a job over files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'crypt4gh-stubs-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const late = join(folder, 'late');
  const job = { kind: 'decrypt-file', dataKeys: [], source: 0, target: 0, from: 0, length: 1_000_000, to: 0 } as const;

  /** Two threads of which the one or the other is at it first, as `body` says. */
  function stubs(body: string): SegmentWorkers {
    const path = join(folder, `${randomUUID()}.mjs`);
    const imports = [
      "import { writeFileSync } from 'node:fs';",
      "import { parentPort, threadId } from 'node:worker_threads';",
    ];
    const sleep = 'const sleep = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };';
    const isFirst = 'const isFirst = threadId % 2 === 0;';
    writeFileSync(path, [...imports, sleep, isFirst, `parentPort.on('message', (job) => { ${body} });`].join('\n'));
    return new SegmentWorkers({ threads: 2, workerUrl: pathToFileURL(path) });
  }

  test('tells the first damaged segment, whichever thread met it', async () => {
    await using threads = stubs('parentPort.postMessage({ result: { damaged: isFirst ? 18 : 3 } });');
    expect(await threads.run(job)).toBe(3);
    await using others = stubs('parentPort.postMessage({ result: isFirst ? { damaged: 18 } : {} });');
    expect(await others.run(job)).toBe(18);
  });

  test('that fails is over when all threads have answered', async () => {
    await using threads = stubs(`
      if (isFirst) return parentPort.postMessage({ error: { message: 'no space left', code: 'ENOSPC' } });
      sleep(200);
      writeFileSync(${JSON.stringify(late)}, '');
      parentPort.postMessage({ result: {} });`);
    await expect(threads.run(job)).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(existsSync(late)).toBe(true);
    rmSync(late);
  });

  test.each([
    ['whose thread dies', 'if (isFirst) { sleep(20); throw new Error("out of memory"); }', false],
    ['whose threads are closed', '', true],
  ])('%s is over when no thread does anything any more', async (_, dies, closes) => {
    await using threads = stubs(`${dies} sleep(700); writeFileSync(${JSON.stringify(late)}, '');`);
    const running = threads.run(job);
    running.catch(() => undefined);
    if (closes) setTimeout(() => void threads.close(), 100);
    await expect(running).rejects.toThrow(closes ? 'have been closed' : 'out of memory');
    await new Promise((resolve) => setTimeout(resolve, 800));
    expect(existsSync(late)).toBe(false);
  });
});

describe('threads', () => {
  test('that are closed take nothing more, and what is under way fails', async () => {
    const closing = new SegmentWorkers({ threads: 1 });
    const output = closing.decryptSegments([body], { dataKeys: [dataKey] });
    const first = output.next();
    await Promise.resolve();
    await closing.close();
    await expect(first).rejects.toThrow('closed');
    await expect(collect(closing.decryptSegments([body], { dataKeys: [dataKey] }))).rejects.toThrow('closed');
    await closing.close();
  });

  test('that cannot start fail the body with the reason', async () => {
    const broken = new SegmentWorkers({ threads: 1, workerUrl: new URL('./no-such-file.js', import.meta.url) });
    const { error } = await outcomeOf(broken.decryptSegments([body], { dataKeys: [dataKey] }));
    expect((error as Error).message).toContain('no-such-file.js');
    await broken.close();
  });
});
