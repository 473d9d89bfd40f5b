import type { Stats } from 'node:fs';
import { lstat, rm } from 'node:fs/promises';
import { checkFile } from './check-file.ts';
import { ifThere, LocalDiskError, onDisk } from './disk/local-disk.ts';
import type { LocalPaths } from './disk/local-name.ts';
import type { Expected, Verified } from './expected.ts';

/** What to do with an existing file that does not match its receipt. `keep`: it is not touched, which is an error; `force`: it is replaced. */
export type Existing = 'keep' | 'force';

interface Wanted {
  readonly paths: LocalPaths;
  readonly existing: Existing;
  readonly remote: { readonly size: number; readonly modified?: Date | undefined };
  readonly expected: Expected | undefined;
  readonly signal: AbortSignal | undefined;
  /** Called before the existing file is read, and with the bytes of each read. */
  readonly reading: () => void;
  readonly read: (bytes: number) => void;
}

/**
 * Whether the file exists and needs no download, because it matches its receipt. Without a receipt, a file that has the size and
 * time of the remote file is taken for that of an earlier run, and is not verified.
 * @returns `undefined` if it must be downloaded
 * @throws LocalDiskError if the existing file must not be touched; ClientError `interrupted`
 */
export async function keptFile(wanted: Wanted): Promise<{ readonly verified: Verified | undefined } | undefined> {
  const { paths, existing, remote, expected } = wanted;
  const found = await onDisk(paths.final, () => ifThere(lstat(paths.final)));
  if (found === undefined) return undefined;
  if (found.isDirectory()) {
    throw new LocalDiskError(`${paths.final} is a folder`, {
      remedy: 'Move it away, or choose another folder with --output.',
    });
  }
  const kept = expected ? await matching(found, expected, wanted) : hasFactsOf(found, remote) && unverified;
  if (kept && (kept.verified || existing !== 'force')) {
    // What an earlier run left beside it is no longer of use.
    for (const left of [paths.journal, paths.part]) await onDisk(left, () => rm(left, { force: true }));
    return kept;
  }
  if (existing === 'force') return undefined;
  const why = expected ? 'and is not what its receipt lists' : 'and no delivery receipt names it';
  throw new LocalDiskError(`${paths.final} exists already, ${why}`, {
    remedy: 'Give --force to replace it, or another folder with --output.',
  });
}

const unverified = { verified: undefined };

async function matching(found: Stats, { file }: Expected, { paths, signal, reading, read }: Wanted) {
  // No link is followed, and a file of another size is not read.
  if (!found.isFile() || found.size !== file.size) return undefined;
  reading();
  const about = { path: paths.final, claim: file, form: 'container', privateKeys: [], onBytes: read, signal } as const;
  const state = (await checkFile(about))?.state;
  return state === 'bytes' ? { verified: state } : state === 'size_only' && unverified;
}

/** A file of an earlier run has the time of its remote file, in whole seconds. */
function hasFactsOf(found: Stats, { size, modified }: Wanted['remote']): boolean {
  if (!found.isFile() || found.size !== size || modified === undefined) return false;
  return Math.floor(found.mtimeMs / 1000) === Math.floor(modified.getTime() / 1000);
}
