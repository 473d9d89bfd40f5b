import { closeSync, fstatSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { WorkerPool } from '../../../lib/crypt4gh/worker-pool.ts';

const folder = mkdtempSync(join(tmpdir(), 'crypt4gh-pool-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a job that fails because the threads are closed has no thread at it any more, not even in the middle of a write', async () => {
  const path = join(folder, 'busy.mjs');
  writeFileSync(
    path,
    `import { writeSync } from 'node:fs';
     import { parentPort } from 'node:worker_threads';
     const bytes = Buffer.alloc(64 * 1024 * 1024, 1);
     parentPort.on('message', ({ target }) => { for (;;) writeSync(target, bytes); });`,
  );
  const pool = new WorkerPool({ threads: 1, workerUrl: pathToFileURL(path) });
  const target = openSync(join(folder, 'target'), 'w');
  const next = new SharedArrayBuffer(4);
  const job = { kind: 'decrypt-file', dataKeys: [], source: 0, target, from: 0, length: 1, to: 0, next } as const;
  const sizes: number[] = [];
  const running = pool.run(job).catch(() => {
    sizes.push(fstatSync(target).size);
  });
  while (fstatSync(target).size === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  await Promise.all([pool.close(), running]);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(sizes).toEqual([fstatSync(target).size]);
  await expect(pool.run(job)).rejects.toThrow('the worker threads have been closed');
  closeSync(target);
});
