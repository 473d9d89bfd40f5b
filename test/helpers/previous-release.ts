import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { synthesize } from '../../lib/local/template/synthesize.ts';

/**
 * The commit of the release before this one, from which an operator may upgrade. At a release it becomes the tagged commit:
 * docs/releasing.md.
 */
export const previousRelease = '4cb4b9ab7163f5f14a611ab1b3bacd430864a321';

const root = join(import.meta.dirname, '../..');

/**
 * Folder of the cloud assembly of the previous release, made once from the history of this clone with the packages of this tree.
 *
 * @throws Error when the clone has no history, or the synth fails
 */
export async function previousAssembly(): Promise<string> {
  const output = join(root, 'cdk.out/previous', previousRelease);
  if (existsSync(output)) return output;
  mkdirSync(dirname(output), { recursive: true });
  const folder = mkdtempSync(join(root, 'cdk.out/previous-'));
  try {
    const [source, made] = [join(folder, 'source'), join(folder, 'assembly')];
    for (const path of [source, made]) mkdirSync(path);
    execFileSync('tar', ['-x', '-C', source], { input: archiveOf(previousRelease) });
    symlinkSync(join(root, 'node_modules'), join(source, 'node_modules'), 'dir');
    await synthesize(source, made, { patienceMs: 0 });
    // Whole or not at all. Another process may have been faster.
    if (!existsSync(output)) renameSync(made, output);
    return output;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The source tree of a commit, as tar. @throws Error that says what to do when this clone does not have the commit */
export function archiveOf(commit: string): Buffer {
  const git = (...argv: string[]) =>
    execFileSync('git', argv, { cwd: root, maxBuffer: 1024 ** 3, stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    git('cat-file', '-e', `${commit}^{commit}`);
  } catch (cause) {
    throw new Error(
      `this clone does not have the commit ${commit} of the previous release: fetch the history with git fetch --unshallow, or correct test/helpers/previous-release.ts`,
      { cause },
    );
  }
  return git('archive', '--format=tar', commit);
}
