import { chmodSync, createWriteStream, mkdirSync, mkdtempSync, readdirSync, rmSync, type WriteStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import { connectionVariable, defaultConnectionFile } from '../contract/connection.ts';
import { EngineError } from './errors.ts';
import type { OnLog } from './lambda/functions.ts';
import { takeLock } from './process-lock.ts';

/**
 * Take the folders of an engine. All paths are absolute.
 *
 * @returns `dataDir` is kept between runs; `undefined`: nothing is kept, and what can be in memory exists. `workDir` has keys,
 * and task roots of functions; it is a temporary folder when nothing is kept. `release` lets another engine use the folder,
 * and removes what was temporary.
 * @throws EngineError when the data folder cannot be written or closed to others, or another engine uses it.
 */
export function takeState(options: { dataDir?: string | undefined; connectionPath?: string | undefined }) {
  if (options.dataDir === '') throw new EngineError('the data folder has no name: give --data-dir a path');
  const dataDir = options.dataDir === undefined ? undefined : resolve(options.dataDir);
  const named = options.connectionPath ?? (process.env[connectionVariable] || undefined);
  const connectionPath = resolve(named ?? (dataDir ? join(dataDir, 'connection.json') : defaultConnectionFile));
  const logsDir = join(dirname(connectionPath), 'logs');
  if (dataDir === undefined) {
    const workDir = mkdtempSync(join(tmpdir(), 'data-out-'));
    const release = () => rmSync(workDir, { recursive: true, force: true });
    return { dataDir, workDir, connectionPath, logsDir, release };
  }
  return { dataDir, workDir: dataDir, connectionPath, logsDir, release: lock(dataDir) };
}

function lock(dataDir: string): () => void {
  try {
    mkdirSync(dataDir, { recursive: true });
    // For its owner alone: others then reach nothing in it.
    chmodSync(dataDir, 0o700);
    const lock = takeLock(join(dataDir, 'engine.lock'));
    if ('release' in lock) return lock.release;
    throw new EngineError(
      `${dataDir} is in use by another engine (process ${lock.owner}): end it, or name another folder with --data-dir`,
    );
  } catch (error) {
    if (error instanceof EngineError) throw error;
    throw new EngineError(`the data folder ${dataDir} cannot be written: ${String(error)}`, { cause: error });
  }
}

/** One log file per function and API. They are kept with the other state; without kept state every start begins with empty files. */
export class Logs {
  readonly directory: string;
  readonly #files = new Map<string, WriteStream>();
  readonly #onLog: OnLog | undefined;

  constructor(directory: string, options: { readonly keep: boolean; readonly onLog: OnLog | undefined }) {
    mkdirSync(directory, { recursive: true });
    if (!options.keep) {
      for (const name of readdirSync(directory)) if (name.endsWith('.log')) rmSync(join(directory, name));
    }
    this.directory = directory;
    this.#onLog = options.onLog;
  }

  write(name: string, line: string): void {
    const file =
      this.#files.get(name) ?? createWriteStream(join(this.directory, `${name}.log`), { flags: 'a', mode: 0o600 });
    this.#files.set(name, file);
    file.write(`${line}\n`);
    this.#onLog?.(name, line);
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.#files.values()].map(async (file) => {
        file.end();
        await finished(file);
      }),
    );
  }
}
