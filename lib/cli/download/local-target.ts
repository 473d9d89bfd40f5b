import { basename, dirname, resolve } from 'node:path';
import { isFolder } from '../../client/download/disk/local-disk.ts';
import { type LocalPaths, localPaths, nameProblem } from '../../client/download/disk/local-name.ts';

/**
 * Where one file goes.
 *
 * @param output as the user wrote it: a file, or a folder that is there; `undefined`: the folder itself
 * @param name that the service gives the file; not used when it is no good name here
 * @param fallback a name for that case
 */
export async function localTarget(
  folder: string,
  output: string | undefined,
  { name, fallback }: { readonly name: string; readonly fallback: string },
): Promise<LocalPaths> {
  const good = nameProblem(name) === undefined ? name : fallback;
  if (output === undefined) return localPaths(folder, good);
  const path = resolve(folder, output);
  if (output.endsWith('/') || (await isFolder(path))) return localPaths(path, good);
  // The user may choose names that no service may.
  return chosenPaths(path);
}

function chosenPaths(path: string): LocalPaths {
  const name = basename(path);
  if (nameProblem(name) === undefined) return localPaths(dirname(path), name);
  return { final: path, part: `${path}.part`, journal: `${path}.part.json`, lock: `${path}.part.lock` };
}
