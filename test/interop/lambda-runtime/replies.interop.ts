import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Runtime } from './runtime.ts';

/** Folder with one folder for each version of the package `aws-lambda-ric`: see `.ci/interop-lambda-runtime`. */
const clients = process.env.LAMBDA_RUNTIME_CLIENTS ?? '';
const piece = 65_536;
let task: string;
let runtime: Runtime;

beforeAll(async () => {
  if (!existsSync(clients)) throw new Error('LAMBDA_RUNTIME_CLIENTS names no folder: run .ci/interop-lambda-runtime');
  task = await mkdtemp(join(tmpdir(), 'data-out-task-'));
  await build({
    entryPoints: [join(import.meta.dirname, 'handler.ts')],
    outfile: join(task, 'index.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    logLevel: 'error',
  });
});
afterAll(() => rm(task, { recursive: true, force: true }));
afterEach(() => runtime?.stop());

describe.each([
  ['3.3.0', 'bin/index.mjs'],
  ['4.0.2', 'index.mjs'],
])('with version %s of the runtime interface client', (version, entry) => {
  const start = async (handler: string) => {
    const client = { folder: join(clients, version, 'package'), entry };
    // Where its native part would be; the stand-in takes its place.
    for (const place of ['dist', '.']) {
      if (existsSync(join(client.folder, place))) await writeFile(join(client.folder, place, 'rapid-client.node'), '');
    }
    runtime = await Runtime.start(client, task, handler);
  };

  test('whole, empty and short replies arrive whole', async () => {
    await start('index.handler');
    expect(await runtime.invoke('whole')).toMatchObject({ bytes: 10 * piece, errorType: undefined });
    const empty = await runtime.invoke('empty');
    expect(empty).toMatchObject({ metadata: { statusCode: 200 }, bytes: 0, errorType: undefined });
    expect(await runtime.invoke('text')).toMatchObject({ bytes: 18, errorType: undefined });
  });

  test.each([
    ['breaks', 10 * piece],
    ['breaks-at-once', 0],
  ])('a body that %s is told as broken, and the process serves the next call', async (path, bytes) => {
    await start('index.handler');
    const before = await runtime.invoke('whole');
    expect(await runtime.invoke(path)).toMatchObject({ bytes, errorType: expect.any(String) });
    const after = await runtime.invoke('whole');
    expect(after).toMatchObject({ bytes: 10 * piece, errorType: undefined });
    expect(after.metadata.headers['X-Pid']).toBe(before.metadata.headers['X-Pid']);
    expect(runtime.output).not.toMatch(/unhandled/i);
  });

  test('so is a reply that nothing takes in time', async () => {
    await start('index.handler');
    // Our functions keep two seconds for telling what happened to a reply.
    const reply = await runtime.invoke('endless', { remainingMs: 2300, pauseMs: 900 });
    expect(reply.errorType).toEqual(expect.any(String));
    expect(await runtime.invoke('whole')).toMatchObject({ bytes: 10 * piece, errorType: undefined });
    expect(runtime.output).not.toMatch(/unhandled/i);
  });

  test('a stream that the function destroys costs it the process: the local engine does so, too', async () => {
    await start('index.destroying');
    await expect(runtime.invoke('x')).rejects.toThrow(/the process ended with [^0][\s\S]*broken off/);
  });
});
