#!/usr/bin/env node
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Engine, startEngine } from '../lib/local/engine.ts';
import { EngineError } from '../lib/local/errors.ts';
import { freshAssembly } from '../lib/local/template/fresh-assembly.ts';
import { synthProgress } from '../lib/local/template/synth-progress.ts';
import { type Check, expectThat, runCheck } from '../lib/ops/smoke/check.ts';
import { startLocalRun } from '../lib/ops/smoke/run.ts';
import { mainPath } from '../lib/ops/smoke/suite.ts';
import { exitCodes } from '../lib/terminal/exit-codes.ts';
import { counted, formatBytes, formatDuration } from '../lib/terminal/output.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';
import { settings as defaults } from './settings.ts';

const root = join(import.meta.dirname, '..');

/** The checks of the smoke test that are the main job, on an engine that leaves nothing behind. @returns the exit code */
async function main(): Promise<number> {
  const terminal = processTerminal();
  const { signal, write, report } = terminal;
  const started = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'data-out-demo-'));
  let engine: Engine | undefined;
  let failed = true;
  let number = 0;
  const step = (text: string, milliseconds: number) => {
    number += 1;
    write(`${String(number).padStart(2)}  ${text} (${formatDuration(milliseconds)})\n`);
  };
  try {
    const assemblyDir = await freshAssembly({ root, signal, ...synthProgress(process.stderr) });
    const begun = performance.now();
    engine = await startEngine({ assemblyDir, connectionPath: join(folder, 'connection.json') });
    const { connection, traffic } = engine;
    step(`start the engine: ${connection.proxyUrl}`, performance.now() - begun);
    // The engine runs the defaults, whatever the operator's own settings say.
    const { archiveKind, deliveryReceipt = true } = defaults;
    const expected = { archiveKind, deliveryReceipt, adminPage: true, needsPassword: true };
    await using run = await startLocalRun(connection, { expected, signal });
    const passed = new Set(['users', 'visa']);
    for (const check of [...mainPath.before, staging(traffic), ...mainPath.after]) {
      const { result, found, seconds } = await runCheck(check, run, passed);
      signal.throwIfAborted();
      step(`${check.id}: ${result === 'skipped' ? 'skipped, ' : ''}${found}`, seconds * 1000);
      if (result !== 'failed') continue;
      report(`step ${number} failed. Logs of the functions: ${connection.logsDir}\n`);
      return exitCodes.unexpected;
    }
    write(`All of it held, in ${formatDuration(performance.now() - started)}.\n`);
    failed = false;
    return exitCodes.ok;
  } catch (error) {
    if (signal.aborted) {
      failed = false;
      report('interrupted\n');
      return exitCodes.interrupted;
    }
    if (!(error instanceof EngineError)) throw error;
    report(`${error.message}\n`);
    return exitCodes.unexpected;
  } finally {
    await engine?.stop();
    // The logs of the functions say why it failed.
    if (!failed || !engine) await rm(folder, { recursive: true, force: true });
  }
}

/** S3 copies the bodies. The traffic of an engine shows it, which a deployment keeps to itself. */
function staging(traffic: Engine['traffic']): Check {
  return {
    ...{ id: 'staging', title: 'S3 itself copies the bodies', remedy: 'Check the log of StageFile.' },
    async run() {
      const counters = traffic.counters();
      const parts = counters['stage-file s3 UploadPartCopy']?.calls ?? 0;
      expectThat(parts > 0, 'S3 itself copied no part of a body');
      const read = formatBytes(counters['stage-file s3 GetObject']?.bytesOut ?? 0);
      return `S3 copied ${counted(parts, 'part')}, a function read ${read}`;
    },
  };
}

process.exitCode = await main();
