import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { UsageError } from '../../terminal/errors.ts';

/** A regular file below a folder. */
interface FoundFile {
  /** From the folder on, with `/` between the parts. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
}

/**
 * The regular files below a folder, in the order of their paths by code units. Files and folders with a dot at the start of
 * their name are left out and counted.
 * @param label name of the folder in errors
 * @throws UsageError for a symbolic link, a device, a pipe or a socket: leaving one out would make an incomplete dataset
 */
export async function walkFolder(
  folder: string,
  label: string,
): Promise<{ readonly files: readonly FoundFile[]; readonly hidden: number }> {
  const files: FoundFile[] = [];
  let hidden = 0;
  const waiting = [''];
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
      const path = `${below}${entry.name}`;
      if (entry.name.startsWith('.')) hidden += 1;
      else if (entry.isDirectory()) waiting.push(`${path}/`);
      else if (entry.isFile()) files.push({ path, size: (await lstat(join(folder, path))).size });
      else {
        const what = entry.isSymbolicLink() ? 'a symbolic link' : 'a device, a pipe or a socket';
        throw new UsageError(`${join(label, path)} is ${what}; nothing was added`, {
          remedy: 'Take it out of the folder, or put the file itself there.',
        });
      }
    }
  }
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), hidden };
}
