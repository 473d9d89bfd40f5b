import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { connectionVariable, defaultConnectionFile } from '../contract/connection.ts';
import { prepareDataFolder, tightenContent } from './data-folder.ts';
import { EngineError } from './errors.ts';
import { takeLock } from './process-lock.ts';

/** Where one engine keeps what. All paths are absolute. */
export interface State {
  /** Kept between runs. `undefined`: nothing is kept, and what can be in memory is there. */
  readonly dataDir: string | undefined;
  /** Keys, and task roots of functions. A temporary folder when nothing is kept. */
  readonly workDir: string;
  readonly connectionPath: string;
  readonly logsDir: string;
  /** Take what has been written since the start away from other users. */
  tighten(): void;
  /** Let another engine use the folder, and remove what was temporary. */
  release(): void;
}

/**
 * Take the folders of an engine.
 *
 * @param warn called with what the user should change
 * @throws EngineError when the data folder cannot be written, is not this user's own, or another engine uses it.
 */
export function takeState(
  options: { dataDir?: string | undefined; connectionPath?: string | undefined },
  warn: (text: string) => void,
): State {
  if (options.dataDir === '') throw new EngineError('the data folder has no name: give --data-dir a path');
  const dataDir = options.dataDir === undefined ? undefined : resolve(options.dataDir);
  const named = options.connectionPath ?? (process.env[connectionVariable] || undefined);
  const connectionPath = resolve(named ?? (dataDir ? join(dataDir, 'connection.json') : defaultConnectionFile));
  const logsDir = join(dirname(connectionPath), 'logs');
  if (dataDir === undefined) {
    const workDir = mkdtempSync(join(tmpdir(), 'data-out-'));
    return {
      dataDir,
      workDir,
      connectionPath,
      logsDir,
      // The folder itself is its owner's alone.
      tighten: () => undefined,
      release: () => rmSync(workDir, { recursive: true, force: true }),
    };
  }
  const unlock = lock(dataDir, warn);
  const tighten = () => tightenContent(dataDir);
  const release = () => {
    tighten();
    unlock();
  };
  return { dataDir, workDir: dataDir, connectionPath, logsDir, tighten, release };
}

function lock(dataDir: string, warn: (text: string) => void): () => void {
  try {
    prepareDataFolder(dataDir, warn);
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
