import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const script = join(import.meta.dirname, '../../bin/data-out-ops.ts');

/** The outcome of a process of the operator's tool. */
export interface ProcessRun {
  /** `null` when a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProcessChoices {
  /** The engine to work on. */
  readonly connectionPath: string;
  readonly input?: Readable;
  /** Called with the process once it runs. */
  readonly onStart?: (child: ChildProcess) => void;
}

/** Run `data-out-ops` as its users do: as its own process. */
export async function opsProcess(argv: readonly string[], choices: ProcessChoices): Promise<ProcessRun> {
  const child = spawn(process.execPath, [script, ...argv], {
    env: { ...process.env, DATA_OUT_CONNECTION: choices.connectionPath },
    stdio: 'pipe',
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  }
  choices.onStart?.(child);
  // A tool that ends early closes its input. That is not an error.
  if (choices.input) pipeline(choices.input, child.stdin).catch(() => undefined);
  else child.stdin.end();
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  return { exitCode, ...said };
}
