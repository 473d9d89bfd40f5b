import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isCode } from './errors.ts';

/** A lock file that this process holds, or the id of the running process that holds it. */
export type LockAttempt = { readonly release: () => void } | { readonly owner: number };

/** Paths of the locks that this process holds. */
const held = new Set<string>();

/**
 * Takes a lock file for this process. A file that an ended process left behind is taken over.
 *
 * @param path absolute
 * @throws the system's error when the file cannot be written
 */
export function takeLock(path: string): LockAttempt {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
    const owner = Number(readFileSync(path, 'utf8'));
    if (isRunning(owner, path)) return { owner };
    writeFileSync(path, String(process.pid));
  }
  held.add(path);
  return {
    release: () => {
      held.delete(path);
      rmSync(path, { force: true });
    },
  };
}

function isRunning(owner: number, path: string): boolean {
  // A restarted container gives the same ids again: a file that this process did not write is an ended one's.
  if (owner === process.pid) return held.has(path);
  if (!Number.isSafeInteger(owner) || owner < 1) return false;
  try {
    process.kill(owner, 0);
    return true;
  } catch (error) {
    return isCode(error, 'EPERM');
  }
}
