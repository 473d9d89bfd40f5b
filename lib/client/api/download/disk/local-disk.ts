import { lstat, mkdir, open, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { diskProblems } from '../../../../common/disk-problems.ts';
import { ClientError, type ClientErrorOptions } from '../../errors.ts';

/** The disk refuses. `folderWide`: whether it would also refuse another file in the same folder. */
export class LocalDiskError extends ClientError {
  readonly folderWide: boolean;
  constructor(message: string, options: ClientErrorOptions & { readonly folderWide?: boolean }) {
    super('local_disk', message, options);
    this.folderWide = options.folderWide ?? false;
  }
}

/** Codes that another file in the same folder would also get. */
const ofFolder = new Set('ENOSPC EDQUOT EROFS EACCES EPERM ENOENT ENOTDIR EEXIST EMFILE ENFILE'.split(' '));

/** A file system error in the client's words, with what to do about it. Returns any other error as it is. */
export function diskError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return error;
  const code = String(error.code);
  const [problem, remedy] = diskProblems[code] ?? [`the disk answers ${code}`, 'Check the disk.'];
  return new LocalDiskError(`${path}: ${problem}`, { remedy, cause: error, folderWide: ofFolder.has(code) });
}

/** Does work on the disk. @throws LocalDiskError instead of the file system's errors */
export async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw diskError(error, path);
  }
}

/** Whether an error is one of the system with this code, such as `ENOENT`. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** The result, or `undefined` if there is no such file. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * Makes a folder and those above it, as `mkdir -p`. Node's own recursive `mkdir` never ends below an existing folder that
 * takes no new one, such as `/proc` or a folder of an automounter.
 * @param mode of the folders that are made
 * @throws LocalDiskError
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  if (await isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) await makeFolder(parent, mode);
  await onDisk(path, () => mkdir(path, mode)).catch(async (error: unknown) => {
    // Another process may have been faster.
    if (!(await isFolder(path))) throw error;
  });
}

/** Makes folders below a folder, through no link. @returns the path of the last one @throws LocalDiskError */
export async function makeFoldersIn(folder: string, names: readonly string[]): Promise<string> {
  let path = folder;
  for (const name of names) {
    path = join(path, name);
    const here = path;
    await onDisk(here, () => mkdir(here)).catch(async (error: unknown) => {
      const found = await lstat(here).catch(() => undefined);
      if (found?.isDirectory()) return;
      if (found === undefined) throw error;
      const what = found.isSymbolicLink() ? 'a symbolic link' : 'a file';
      const remedy = 'Move it away, or choose another folder with --output.';
      throw new LocalDiskError(`${here} is ${what}, and not a folder`, { remedy });
    });
  }
  return path;
}

/** Brings the names of a folder to the disk. Where the system cannot, a crash can take a name back. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    await using handle = await open(folder, 'r');
    await handle.sync();
  } catch {
    // The names themselves are changed.
  }
}

export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

export async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() === true;
}

const mebibyte = 1024 * 1024;

/** @throws LocalDiskError if the disk says that it has too little room for so many bytes */
export async function checkSpace(path: string, needed: number): Promise<void> {
  const { bavail, bsize, blocks } = await onDisk(path, () => statfs(dirname(path)));
  const room = bavail * bsize;
  if (blocks === 0 || room >= needed) return;
  const [most, left] = [Math.ceil(needed / mebibyte), Math.floor(room / mebibyte)];
  throw new LocalDiskError(`${path} needs ${most} MiB more, but the disk has room for ${left} MiB`, {
    remedy: 'Make room there, or choose another disk with --output. The bytes downloaded so far are kept.',
  });
}
