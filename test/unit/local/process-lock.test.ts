import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
