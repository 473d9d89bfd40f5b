import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { startOf } from './installed-program.ts';

/** The outcome of a process of the client. */
export interface PipeRun {
  /** `null` when a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface PipeChoices {
  readonly folder: string;
  /** `bin/data-out.ts`, the program of a built package, or an executable. */
  readonly script: string;
  /** All of its environment but `PATH`, which an executable does not get. */
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input. */
  readonly input?: Uint8Array | Readable;
  /** Called with the process once it runs. */
  readonly onStart?: (child: ChildProcess) => void;
}

/** Runs `data-out` in its own session, so that it has no terminal wherever the test runs. */
export async function pipeProcess(argv: readonly string[], choices: PipeChoices): Promise<PipeRun> {
  const { folder, script, env, input, onStart } = choices;
  const start = startOf(script);
  const [command = '', ...args] = [...start.command, ...argv];
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...start.env, HOME: folder, ...env },
    stdio: 'pipe',
    detached: true,
  });
  const chunks: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  onStart?.(child);
  // A client that ends early closes its input. That is not an error.
  child.stdin.on('error', () => undefined);
  if (input instanceof Uint8Array || input === undefined) child.stdin.end(input);
  else pipeline(input, child.stdin).catch(() => undefined);
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  return { exitCode, stdout: Buffer.concat(chunks), stderr };
}
