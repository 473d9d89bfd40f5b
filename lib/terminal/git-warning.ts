import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Output, printable } from './output.ts';

/** Warns of a secret at an absolute path in a Git work tree that does not ignore it: a commit could include it. */
export async function warnOfCommit(path: string, output: Pick<Output, 'warn'>): Promise<void> {
  if (!isInWorkTree(dirname(path)) || (await isIgnored(path))) return;
  output.warn(`Git can commit the secret ${printable(path)}: name it in .gitignore, or move it`);
}

function isInWorkTree(folder: string): boolean {
  if (existsSync(join(folder, '.git'))) return true;
  const above = dirname(folder);
  return above !== folder && isInWorkTree(above);
}

/** Also `false` without Git, as in a container: the tree can be committed elsewhere. */
function isIgnored(path: string): Promise<boolean> {
  const argv = ['-C', dirname(path), 'check-ignore', '--quiet', '--', path];
  // Windows looks for a program in the working folder first.
  const cwd = dirname(process.execPath);
  return new Promise((resolve) => {
    execFile('git', argv, { cwd }, (error) => resolve(error === null));
  });
}
