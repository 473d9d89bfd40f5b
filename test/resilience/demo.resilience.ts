import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assembly } from '../helpers/assembly.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-demo-test-'));
  await assembly();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** `npm run demo` with nothing to synthesize and its own folder for temporary files. */
async function demo(onOutput: (stdout: string, kill: (signal: NodeJS.Signals) => void) => void = () => {}) {
  const script = join(import.meta.dirname, '../../bin/demo.ts');
  const child = spawn(process.execPath, [script], { cwd: folder, env: { ...process.env, TMPDIR: folder } });
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    said.stdout += chunk;
    onOutput(said.stdout, (signal) => child.kill(signal));
  });
  child.stderr.on('data', (chunk) => {
    said.stderr += chunk;
  });
  const exitCode = await new Promise((resolve) => child.once('close', resolve));
  return { exitCode, ...said };
}

describe('npm run demo', () => {
  test('holds in every step, in less than a minute, and leaves nothing behind', async () => {
    const started = performance.now();
    const { exitCode, stdout, stderr } = await demo();
    expect(stderr).toBe('');
    expect(exitCode).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.pop()).toMatch(/^All of it held, in /);
    // One line a step, numbered, with the time it took; it fits a terminal.
    for (const [index, line] of lines.entries()) {
      expect(line.length).toBeLessThanOrEqual(80);
      expect(line).toMatch(new RegExp(`^ ?${index + 1}  .+: .+ \\((\\d+ ms|[\\d.]+ s)\\)$`));
    }
    const steps = [
      'download: 6 files decrypted',
      'direct: a plaintext, and containers',
      'assembled by S3',
      'rejected: not_released',
    ];
    for (const step of steps) expect(stdout).toContain(step);
    expect(performance.now() - started).toBeLessThan(60_000);
    expect(await readdir(folder)).toEqual([]);
  });

  test('an interrupt ends it at once, and leaves nothing behind', async () => {
    let killed = false;
    const { exitCode, stdout, stderr } = await demo((said, kill) => {
      if (killed || !said.includes('archive: ')) return;
      killed = true;
      kill('SIGINT');
    });
    expect(stderr).toBe('interrupted\n');
    expect(stdout).not.toContain('All of it held');
    expect(exitCode).toBe(130);
    expect(await readdir(folder)).toEqual([]);
  });
});
