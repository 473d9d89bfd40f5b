/** Starts the engine in the ways that docs/local-engine.md shows. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { assembly } from '../helpers/assembly.ts';

const root = join(import.meta.dirname, '../..');
let folder: string;
let child: ChildProcess | undefined;

beforeAll(async () => {
  await assembly();
  folder = await mkdtemp(join(tmpdir(), 'data-out-start-'));
});
afterAll(async () => {
  child?.kill('SIGTERM');
  if (child && child.exitCode === null) await once(child, 'exit');
  await rm(folder, { recursive: true, force: true });
});

const start = (...argv: readonly string[]) => spawn(process.execPath, [join(root, 'bin/start.ts'), ...argv]);

test('--archive-credentials when-presented serves the visa alone, whatever the template says', async () => {
  child = start('--data-dir', folder, '--archive-credentials', 'when-presented');
  const path = join(folder, 'connection.json');
  await expect.poll(() => existsSync(path), { timeout: 50_000 }).toBe(true);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(root, 'bin/data-out-ops.ts'), 'visa', 'issue', '--subject', 'researcher', '--dataset', 'EGAD1'],
    { env: { ...process.env, DATA_OUT_CONNECTION: path } },
  );
  const { proxyUrl } = JSON.parse(readFileSync(path, 'utf8')) as { proxyUrl: string };
  const headers = { 'X-GA4GH-Visa': stdout.trim() };
  const reply = await fetch(`${proxyUrl.replace(/\/$/, '')}/files?inbox=false`, { headers });
  expect([reply.status, await reply.json()]).toEqual([200, expect.objectContaining({ files: [] })]);
});

test('another word is refused, and the two that are known are named', async () => {
  const wrong = start('--archive-credentials', 'never');
  let said = '';
  wrong.stderr.on('data', (data) => {
    said += String(data);
  });
  const [code] = await once(wrong, 'exit');
  expect([code, said]).toEqual([1, expect.stringContaining('required, when-presented')]);
});
