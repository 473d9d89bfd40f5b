import { randomUUID } from 'node:crypto';
import { constants, copyFileSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  const written = `${path}.${randomUUID()}`;
  writeFileSync(written, String(process.pid), { flag: 'wx' });
  try {
    for (;;) {
      try {
        createWhole(written, path);
        held.add(path);
        return { release: () => release(path) };
      } catch (error) {
        if (!isCode(error, 'EEXIST')) throw error;
        const owner = ownerOf(path);
        if (owner === undefined) continue;
        if (isRunning(owner, path)) return { owner };
        // Another start may have judged the same file and put its own there. So one start at a time removes it, and only
        // if it still is what was judged. That lock is of the same kind: a start that is killed here blocks no other.
        const removal = takeLock(`${path}.${owner}`);
        if ('owner' in removal) return removal;
        if (Object.is(ownerOf(path), owner) && !isRunning(owner, path)) rmSync(path, { force: true });
        removal.release();
      }
    }
  } finally {
    rmSync(written, { force: true });
  }
}

/** Without a moment in which the file is empty: it would look left behind to another process. @throws EEXIST */
function createWhole(written: string, path: string): void {
  try {
    linkSync(written, path);
  } catch (error) {
    // The file system has no links.
    if (!isCode(error, 'EPERM', 'ENOTSUP', 'ENOSYS')) throw error;
    copyFileSync(written, path, constants.COPYFILE_EXCL);
  }
}

function release(path: string): void {
  held.delete(path);
  rmSync(path, { force: true });
}

/** `undefined` when the file has gone meanwhile. */
function ownerOf(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8'));
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
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
