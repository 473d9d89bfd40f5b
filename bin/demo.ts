#!/usr/bin/env node
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Engine, startEngine } from '../lib/local/engine.ts';
import { EngineError } from '../lib/local/errors.ts';
import { freshAssembly } from '../lib/local/template/fresh-assembly.ts';
import { synthProgress } from '../lib/local/template/synth-progress.ts';
import { createSteps, demonstrate, StepFailure } from '../lib/ops/smoke/demo.ts';
import { exitCodes } from '../lib/terminal/exit-codes.ts';
import { formatDuration } from '../lib/terminal/output.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';
import { settings as defaults } from './settings.ts';

const root = join(import.meta.dirname, '..');

/** The main job from beginning to end, on its own engine that leaves nothing behind. @returns the exit code */
async function main(): Promise<number> {
  const terminal = processTerminal();
  const { signal, write, report } = terminal;
  const started = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'data-out-demo-'));
  let engine: Engine | undefined;
  let failed = true;
  try {
    const assemblyDir = await freshAssembly({ root, signal, ...synthProgress(process.stderr) });
    const steps = createSteps(write);
    const start = () => startEngine({ assemblyDir, connectionPath: join(folder, 'connection.json') });
    engine = await steps('start the engine', start, ({ connection }) => connection.proxyUrl);
    signal.throwIfAborted();
    const { connection, traffic } = engine;
    const stagingCost = () => costOf(traffic);
    // The engine runs the defaults, whatever the operator's own settings say.
    const { archiveKind, deliveryReceipt = true } = defaults;
    const expected = { archiveKind, deliveryReceipt, adminPage: true, needsPassword: true };
    await demonstrate({ connection, expected, stagingCost, steps, signal });
    write(`All of it held, in ${formatDuration(performance.now() - started)}.\n`);
    failed = false;
    return exitCodes.ok;
  } catch (error) {
    if (signal.aborted) {
      failed = false;
      report('interrupted\n');
      return exitCodes.interrupted;
    }
    if (!(error instanceof StepFailure || error instanceof EngineError)) throw error;
    report(`${error.message}\n`);
    if (engine) report(`logs of the functions: ${engine.connection.logsDir}\n`);
    return exitCodes.unexpected;
  } finally {
    await engine?.stop();
    // The logs of the functions say why it failed.
    if (!failed || !engine) await rm(folder, { recursive: true, force: true });
  }
}

function costOf(traffic: Engine['traffic']) {
  const counters = traffic.counters();
  return {
    bytesRead: counters['stage-file s3 GetObject']?.bytesOut ?? 0,
    partsCopied: counters['stage-file s3 UploadPartCopy']?.calls ?? 0,
  };
}

process.exitCode = await main();
