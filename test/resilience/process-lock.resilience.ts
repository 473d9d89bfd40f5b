import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-lock-'));
});
afterEach(() => rm(folder, { recursive: true }));

test.each([
  ['was released', 'lock.release();'],
  ['is that of an ended process', "writeFileSync(path, '999999999');"],
])('a lock that %s is taken by one process alone', async (_, end) => {
  const module = pathToFileURL(join(import.meta.dirname, '../../lib/local/process-lock.ts'));
  // Each round a process takes the lock, makes and removes a folder that must not be there, and ends the lock.
  const work = `
    import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
    import { takeLock } from ${JSON.stringify(module)};
    const [path, alone] = ${JSON.stringify([join(folder, 'lock'), join(folder, 'alone')])};
    for (let rounds = 0; rounds < 400; ) {
      const lock = takeLock(path);
      if ('owner' in lock) continue;
      mkdirSync(alone);
      rmdirSync(alone);
      ${end}
      rounds += 1;
    }`;
  const processes = [1, 2, 3, 4].map(() =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', work]).then(() => 'alone'),
  );
  expect(await Promise.all(processes)).toEqual(['alone', 'alone', 'alone', 'alone']);
});
