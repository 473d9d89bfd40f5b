import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSecretFile, readSmallFile } from '../../../../lib/client/cli/secrets.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-secrets-'));
});
afterAll(() => rm(folder, { recursive: true }));

const read = (path: string) => readSecretFile('--visa', path);

test('a secret that was renewed is read again', async () => {
  const path = join(folder, 'visa');
  await writeFile(path, 'one\r\n');
  expect(await read(path)).toBe('one');
  await writeFile(path, 'two');
  expect(await read(path)).toBe('two');
});

test('a pipe is waited for, and this thread works on meanwhile', async () => {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const reading = read(path);
  await writeFile(path, 'from another process\n');
  expect(await reading).toBe('from another process');
});

test.each(['a file', 'an endless device'])('%s of more bytes than the limit is refused', async (what) => {
  const path = what === 'a file' ? join(folder, 'large') : '/dev/zero';
  if (what === 'a file') await writeFile(path, 'x'.repeat(101));
  await expect(readSmallFile('--keys', path, 100)).rejects.toThrow(`${path} is too large: expected at most 100 bytes`);
});

test('what cannot be read is named with its setting', async () => {
  const missing = join(folder, 'missing');
  await expect(read(missing)).rejects.toMatchObject({
    code: 'not_found',
    message: `--visa: there is no file ${missing}`,
  });
  await expect(read(folder)).rejects.toThrow(`--visa: ${folder} cannot be read (EISDIR)`);
});
