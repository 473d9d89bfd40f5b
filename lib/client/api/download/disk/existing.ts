import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { readJournal, removeJournal } from './journal.ts';
import { ifThere, LocalDiskError, onDisk } from './local-disk.ts';
import type { LocalPaths } from './local-name.ts';

/** What to do with an existing file of the same name. `renew`: it is replaced unless it has the size and time of the remote file. */
export type Existing = 'fail' | 'skip' | 'force' | 'renew';

interface Wanted {
  readonly paths: LocalPaths;
  readonly existing: Existing;
  readonly remote: { readonly name: string; readonly size: number; readonly modified?: Date | undefined };
}

/**
 * Whether the file exists and needs no download.
 * @param isCopy compares the existing file with the remote one, byte by byte. A repeated export stages the same bytes with
 * another time. Entity tags do not help: the tag of an encrypted object or of a multipart upload is not a digest.
 * @throws LocalDiskError if the existing file must not be touched; errors of `isCopy`
 */
export async function isWhole(wanted: Wanted, isCopy: () => Promise<boolean>): Promise<boolean> {
  const { paths, existing, remote } = wanted;
  const found = await statOf(paths.final);
  if (found === undefined) return false;
  const isPlausible = found.size === remote.size;
  if (isPlausible && (await wasFinishedBefore(wanted))) return true;
  if (existing === 'force') return false;
  if (isPlausible && hasTimeOf(found, remote.modified)) return true;
  if (existing === 'renew') return false;
  if (existing === 'fail') {
    // A file fetched straight from the archive has no known time, so every such file would be compared.
    if (!isPlausible || remote.modified === undefined) throw alreadyThere(paths.final);
    if (await isCopy()) return true;
    throw alreadyThere(paths.final, ', with other content');
  }
  if (isPlausible) return true;
  throw new LocalDiskError(`${paths.final} has ${found.size} bytes, but the file to download has ${remote.size}`, {
    remedy: 'It is another file or incomplete: give --force to replace it, or move it away.',
  });
}

/** Whether the file would probably be skipped. Changes nothing and throws nothing. */
export async function wouldSkip(wanted: Wanted): Promise<boolean> {
  const { paths, existing, remote } = wanted;
  if (existing === 'force') return false;
  const found = await statOf(paths.final).catch(() => undefined);
  if (found?.size !== remote.size) return false;
  return existing === 'skip' || hasTimeOf(found, remote.modified);
}

/** Whether an earlier run has downloaded it: such a file has the time of its remote file, in whole seconds. */
function hasTimeOf(found: Stats, modified: Date | undefined): boolean {
  return modified !== undefined && Math.floor(found.mtimeMs / 1000) === Math.floor(modified.getTime() / 1000);
}

/** @throws LocalDiskError if the name is taken */
export async function refuseExisting(path: string): Promise<void> {
  if ((await statOf(path)) !== undefined) throw alreadyThere(path);
}

async function statOf(path: string): Promise<Stats | undefined> {
  const found = await onDisk(path, () => ifThere(lstat(path)));
  if (!found?.isDirectory()) return found;
  throw new LocalDiskError(`${path} is a folder`, {
    remedy: 'Move it away, or choose another folder with --output.',
  });
}

/** Whether an earlier run was stopped between the last two steps: renaming the part and removing its journal. */
async function wasFinishedBefore({ paths, remote }: Wanted): Promise<boolean> {
  const journal = await readJournal(paths.journal);
  if (journal === 'absent' || journal === 'unusable') return false;
  if ((await onDisk(paths.part, () => ifThere(lstat(paths.part)))) !== undefined) return false;
  if (journal.name !== remote.name || journal.version.size !== remote.size) return false;
  await removeJournal(paths.journal);
  return true;
}

function alreadyThere(path: string, how = ''): LocalDiskError {
  return new LocalDiskError(`${path} exists already${how}`, {
    remedy: 'Give --skip-existing to keep it, --force to replace it, or another folder with --output.',
  });
}
