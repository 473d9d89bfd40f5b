import { rename, rm, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Checkpoints } from './checkpoints.ts';
import { type Existing, refuseExisting } from './existing.ts';
import { removeJournal } from './journal.ts';
import { LocalDiskError, onDisk, syncFolder } from './local-disk.ts';
import type { LocalPaths } from './local-name.ts';
import type { PartFile } from './part-file.ts';

const mebibyte = 1024 * 1024;
/** Space is checked before only if more than this is needed: a smaller download fails soon enough anyway. */
const leastCheckedBytes = 8 * mebibyte;

/** Removes the part file and its journal. */
export async function discard(part: PartFile, checkpoints: Checkpoints): Promise<void> {
  await checkpoints.forget();
  await rm(part.path, { force: true });
}

/**
 * Gives the part its final name, in the order that survives a crash: sync, rename, remove the journal. The file gets the time
 * of the remote file, by which later runs recognize it.
 */
export async function finish(
  part: PartFile,
  { size, modified }: { readonly size: number; readonly modified: Date | undefined },
  { paths, existing, sync }: { readonly paths: LocalPaths; readonly existing: Existing; readonly sync: boolean },
  checkpoints: Checkpoints,
): Promise<void> {
  if (modified) await part.setModified(modified);
  if (sync) await part.sync();
  if ((await part.size()) !== size) {
    await checkpoints.forget();
    throw new LocalDiskError(`${part.path} was changed by another program`, {
      remedy: 'Run the same command again: the file is downloaded again.',
    });
  }
  if (existing !== 'force' && existing !== 'renew') await refuseExisting(paths.final);
  await onDisk(paths.final, () => rename(part.path, paths.final));
  if (!checkpoints.exists) return;
  if (sync) await syncFolder(dirname(paths.final));
  await removeJournal(paths.journal);
}

/** @throws LocalDiskError if the disk says that it has too little room */
export async function checkSpace(path: string, needed: number): Promise<void> {
  if (needed < leastCheckedBytes) return;
  const { bavail, bsize, blocks } = await onDisk(path, () => statfs(dirname(path)));
  const room = bavail * bsize;
  if (blocks === 0 || room >= needed) return;
  const [most, left] = [Math.ceil(needed / mebibyte), Math.floor(room / mebibyte)];
  throw new LocalDiskError(`${path} needs ${most} MiB more, but the disk has room for ${left} MiB`, {
    remedy: 'Make room there, or choose another disk with --output. The bytes downloaded so far are kept.',
  });
}
