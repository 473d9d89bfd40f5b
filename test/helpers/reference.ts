import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** The Python reference implementation of Crypt4GH, and the version that the vectors were made with. */
const requirement = 'crypt4gh==1.8.6';

/** Where the reference can be run, or why not. */
export type Reference = { readonly python: string } | { readonly missing: string };

/**
 * A Python that has the reference: the one named by `CRYPT4GH_PYTHON`, or one in a virtual environment made for it in
 * the directory for temporary files.
 */
export async function findReference(): Promise<Reference> {
  const named = process.env.CRYPT4GH_PYTHON;
  if (named !== undefined && named !== '') {
    return (await succeeds(named, ['-c', 'import crypt4gh']))
      ? { python: named }
      : { missing: `${named} (CRYPT4GH_PYTHON) has no package crypt4gh` };
  }
  if (!(await succeeds('python3', ['--version']))) return { missing: 'there is no python3 on this machine' };
  const environment = join(await mkdtemp(join(tmpdir(), 'crypt4gh-')), 'venv');
  if (!(await succeeds('python3', ['-m', 'venv', environment]))) return { missing: 'python3 cannot make environments' };
  const python = join(environment, 'bin', 'python');
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', requirement];
  if (!(await succeeds(python, install))) return { missing: `${requirement} could not be installed` };
  return { python };
}

async function succeeds(file: string, parameters: readonly string[]): Promise<boolean> {
  return run(file, parameters).then(
    () => true,
    () => false,
  );
}
