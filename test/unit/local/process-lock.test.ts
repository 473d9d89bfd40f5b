import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeLock } from '../../../lib/local/process-lock.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'data-out-lock-'));
  path = join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true }));

function take(): () => void {
  const lock = takeLock(path);
  if ('release' in lock) return lock.release;
  throw new Error(`process ${lock.owner} has it`);
}

test('names its process, leaves no other file, and is gone when released', () => {
  const release = take();
  expect([readdirSync(folder), readFileSync(path, 'utf8')]).toEqual([['lock'], String(process.pid)]);
  release();
  expect(readdirSync(folder)).toEqual([]);
});

test('is refused while another process or this one holds it', () => {
  writeFileSync(path, String(process.ppid));
  expect(takeLock(path)).toEqual({ owner: process.ppid });
  rmSync(path);
  const release = take();
  expect(takeLock(path)).toEqual({ owner: process.pid });
  release();
  take()();
});

test.each([
  ['an ended process', '999999999'],
  ['an ended process that had the id of this one', String(process.pid)],
  ['a process that was killed before it wrote', ''],
])('is taken over from %s', (_, content) => {
  writeFileSync(path, content);
  take()();
  expect(readdirSync(folder)).toEqual([]);
});

test('is taken over after a process was killed while it took over', () => {
  writeFileSync(path, '999999999');
  writeFileSync(`${path}.999999999`, '999999998');
  take()();
  expect(readdirSync(folder)).toEqual([]);
});

test('is refused while another process is taking it over', () => {
  writeFileSync(path, '999999999');
  writeFileSync(`${path}.999999999`, String(process.ppid));
  expect(takeLock(path)).toEqual({ owner: process.ppid });
});

test('is never held by two processes at once', async () => {
  // Each round a process takes the lock, makes a file that must not be there, and removes both.
  const work = `
    import { mkdirSync, rmdirSync } from 'node:fs';
    import { takeLock } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../../lib/local/process-lock.ts')))};
    let rounds = 0;
    while (rounds < 300) {
      const lock = takeLock(${JSON.stringify(path)});
      if ('owner' in lock) continue;
      mkdirSync(${JSON.stringify(join(folder, 'alone'))});
      rmdirSync(${JSON.stringify(join(folder, 'alone'))});
      lock.release();
      rounds += 1;
    }`;
  const processes = [1, 2, 3].map(() =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', work]).then(() => 'alone'),
  );
  expect(await Promise.all(processes)).toEqual(['alone', 'alone', 'alone']);
});
