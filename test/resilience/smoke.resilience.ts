import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Service } from '../helpers/service.ts';

let service: Service;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-smoke-'));
  service = await Service.start();
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** `npm run smoke`. */
async function smoke(argv: readonly string[], onReport: (text: string, kill: () => void) => void = () => {}) {
  const script = join(import.meta.dirname, '../../bin/smoke.ts');
  const env = { ...process.env, DATA_OUT_CONNECTION: service.engine.connectionPath };
  const child = spawn(process.execPath, [script, ...argv], { cwd: folder, env });
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    said.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said.stderr += chunk;
    onReport(said.stderr, () => child.kill('SIGINT'));
  });
  const exitCode = await new Promise((done) => child.once('close', done));
  return { exitCode, ...said };
}

describe('npm run smoke', () => {
  test('passes on the local engine', async () => {
    const { exitCode, stdout, stderr } = await smoke([]);
    console.log(stdout, stderr);
    expect(exitCode).toBe(0);
  });
});
