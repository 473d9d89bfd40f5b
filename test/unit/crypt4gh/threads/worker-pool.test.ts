import { spawnSync } from 'node:child_process';
import { closeSync, fstatSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { WorkerPool } from '../../../../lib/crypt4gh/threads/worker-pool.ts';

const folder = mkdtempSync(join(tmpdir(), 'crypt4gh-pool-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a job that fails because the threads are closed no longer has a thread, not even in the middle of a write', async () => {
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

test('a process that waits for the end of threads lives until then, though the last answer comes meanwhile', () => {
  const worker = join(folder, 'answers.mjs');
  // It answers, and cannot be stopped for a while.
  writeFileSync(
    worker,
    `import { parentPort } from 'node:worker_threads';
     import { execFileSync } from 'node:child_process';
     parentPort.on('message', () => { parentPort.postMessage({ result: {} }); execFileSync('sleep', ['0.5']); });`,
  );
  const main = join(folder, 'main.ts');
  const pool = new URL('../../../../lib/crypt4gh/threads/worker-pool.ts', import.meta.url);
  writeFileSync(
    main,
    `import { WorkerPool } from ${JSON.stringify(pool.href)};
     const pool = new WorkerPool({ threads: 1, workerUrl: new URL(${JSON.stringify(pathToFileURL(worker).href)}) });
     const job = pool.run({ kind: 'encrypt', dataKey: undefined, bytes: new Uint8Array(1), lengths: [1] } as never);
     job.catch(() => undefined);
     await new Promise((resolve) => setTimeout(resolve, 10));
     // The answer waits to be taken while the threads are ended.
     for (const end = Date.now() + 300; Date.now() < end; ) continue;
     await pool.close();
     console.log('closed');`,
  );
  const { status, stdout } = spawnSync(process.execPath, [main], { encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'closed\n' });
});
