import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { appendFileSync, createWriteStream, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

const controller = new AbortController();
/** Aborted by Ctrl-C, and by what ends a job of a workflow. */
export const interrupted = controller.signal;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => controller.abort(new Error(`ended by ${signal}`)));
}

/** No program takes longer, unless something waits forever. */
const limitMs = 600_000;

export type Program = ChildProcessByStdio<null, Readable, Readable>;

export interface Surroundings {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Starts a program in its own process group, so that what it starts can be ended with it. */
export function start(argv: readonly string[], { cwd, env }: Surroundings, log: string): Program {
  const [program = '', ...rest] = argv;
  const child = spawn(program, rest, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const file = createWriteStream(log, { flags: 'a' });
  file.write(`\n$ ${argv.join(' ')}\n`);
  child.stdout.on('data', (bytes) => file.write(bytes));
  child.stderr.on('data', (bytes) => file.write(bytes));
  child.once('close', (code, signal) => file.end(`[${code ?? signal}]\n`));
  return child;
}

/** Ends a program and all that it started. */
export async function end(child: Program): Promise<void> {
  const isOver = child.exitCode !== null || child.signalCode !== null;
  const over = isOver ? undefined : new Promise((resolve) => child.once('exit', resolve));
  kill(child, 'SIGTERM');
  const patience = setTimeout(() => kill(child, 'SIGKILL'), 10_000);
  await over;
  clearTimeout(patience);
  // Workers that outlive their parent.
  kill(child, 'SIGKILL');
}

function kill({ pid }: Program, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** What a step works with. */
export class Log {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Runs a program. @returns its standard output @throws Error when it fails, or the run is interrupted */
  async run(argv: readonly string[], surroundings: Surroundings): Promise<string> {
    const { code, stdout } = await this.attempt(argv, surroundings);
    if (code !== 0) throw new Error(`${argv.join(' ')}: ended with ${code}`);
    return stdout;
  }

  /** The same for a program that may fail. */
  async attempt(argv: readonly string[], surroundings: Surroundings) {
    interrupted.throwIfAborted();
    const child = start(argv, surroundings, this.path);
    const stop = () => void end(child);
    interrupted.addEventListener('abort', stop);
    const limit = setTimeout(stop, limitMs);
    const closed = new Promise<number>((resolve, reject) => {
      child.once('error', reject).once('close', (code) => resolve(code ?? -1));
    });
    const [stdout, code] = await Promise.all([text(child.stdout), closed]);
    interrupted.removeEventListener('abort', stop);
    clearTimeout(limit);
    interrupted.throwIfAborted();
    return { code, stdout };
  }

  note(text: string): void {
    appendFileSync(this.path, `${text}\n`);
  }

  /** All that was printed. */
  text(): string {
    return readFileSync(this.path, 'utf8');
  }
}

/** The steps of a run, printed as they end: how long each took, and what it found. */
export class Steps {
  readonly #folder: string;
  readonly #began = Date.now();
  #count = 0;

  /** @param folder gets a log for each step; what is in it is removed */
  constructor(folder: string) {
    this.#folder = folder;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  }

  /** @throws Error of the step, after its last lines were printed */
  async take(title: string, work: (log: Log) => Promise<string>): Promise<void> {
    const name = `${String(++this.#count).padStart(2, '0')}-${title.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}.log`;
    const log = new Log(join(this.#folder, name));
    log.note(title);
    const began = Date.now();
    const tell = (outcome: string, found: string) =>
      process.stdout.write(`${outcome}  ${seconds(began).padStart(7)}  ${title}: ${found}\n`);
    try {
      tell('ok    ', await work(log));
    } catch (error) {
      tell('FAILED', log.path);
      if (!interrupted.aborted) process.stdout.write(`${log.text().trimEnd().split('\n').slice(-25).join('\n')}\n`);
      throw error;
    }
  }

  /** Seconds since the first step. */
  get total(): string {
    return seconds(this.#began);
  }
}

function seconds(since: number): string {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}
