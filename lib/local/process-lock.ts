import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isCode } from './errors.ts';

/** A lock file that this process holds, or the id of the running process that holds it. */
export type LockAttempt = { readonly release: () => void } | { readonly owner: number };

/**
 * Takes a lock file for this process. A file that an ended process left behind is taken over.
 *
 * @throws the system's error when the file cannot be written
 */
export function takeLock(path: string): LockAttempt {
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' });
      return { release: () => rmSync(path, { force: true }) };
    } catch (error) {
      if (!isCode(error, 'EEXIST')) throw error;
      const owner = ownerOf(path);
      if (isRunning(owner)) return { owner };
      rmSync(path, { force: true });
    }
  }
}

/** Not a number when the file has gone meanwhile. */
function ownerOf(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8'));
  } catch (error) {
    if (isCode(error, 'ENOENT')) return Number.NaN;
    throw error;
  }
}

function isRunning(processId: number): boolean {
  if (!Number.isSafeInteger(processId) || processId < 1) return false;
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return isCode(error, 'EPERM');
  }
}
