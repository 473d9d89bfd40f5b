import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { appendLine, readLines } from '../../../../lib/local/s3/documents.ts';

vi.mock(import('node:fs'), async (original) => {
  const actual = await original();
  return { ...actual, appendFileSync: vi.fn(actual.appendFileSync) };
});

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'data-out-documents-'));
  path = join(folder, 'lines');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('a line that the full disk took in part is gone before the next one', async () => {
  const { appendFileSync: append } = await vi.importActual<typeof import('node:fs')>('node:fs');
  appendLine(path, { number: 1 });
  vi.mocked(appendFileSync).mockImplementationOnce((file, line) => {
    append(file, String(line).slice(0, 5));
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  });
  expect(() => appendLine(path, { number: 2 })).toThrow('no space');
  appendLine(path, { number: 3 });
  expect(readLines(path)).toEqual([{ number: 1 }, { number: 3 }]);
});

test('a line that a dying process left in part is cut off', () => {
  appendLine(path, { number: 1 });
  appendFileSync(path, '{"num');
  expect(readLines(path)).toEqual([{ number: 1 }]);
  expect(readFileSync(path, 'utf8')).toBe('{"number":1}\n');
});
