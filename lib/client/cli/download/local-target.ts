import { basename, dirname, resolve } from 'node:path';
import { isFolder } from '../../api/download/disk/local-disk.ts';
import { type LocalPaths, localPaths, nameProblem } from '../../api/download/disk/local-name.ts';

/**
 * The paths for one downloaded file.
 * @param output as the user wrote it: a file or an existing folder. @default - `folder`
 * @param name of the file at the service
 * @param fallback instead of a `name` that this disk refuses
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
  // Users may choose names that are refused from a service, such as one that begins with a dot.
  return chosenPaths(path);
}

function chosenPaths(path: string): LocalPaths {
  const name = basename(path);
  if (nameProblem(name) === undefined) return localPaths(dirname(path), name);
  return { final: path, part: `${path}.part`, journal: `${path}.part.json`, lock: `${path}.part.lock` };
}
