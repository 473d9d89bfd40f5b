#!/usr/bin/env node
import { execFileSync } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import packageJson from '../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '..');
const require = createRequire(import.meta.url);
const typescript = require.resolve('typescript/package.json');
/** The oldest Node.js that runs the package. */
const engine = 'node22';

/**
 * Builds `data-out/crypt4gh`, what other projects import: JavaScript and declarations, file by file. Node runs the
 * TypeScript of this tree as it is, but not that of an installed package.
 *
 * @param outDir is emptied first.
 */
export async function buildLibrary(outDir: string): Promise<void> {
  await rm(outDir, { recursive: true, force: true });
  const tsc = join(typescript, '../bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', outDir], {
    stdio: 'inherit',
  });
  for (const name of await readdir(outDir, { recursive: true })) {
    if (!/\.(js|d\.ts)$/.test(name)) continue;
    const path = join(outDir, name);
    const text = await readFile(path, 'utf8');
    // The compiler rewrites imports of JavaScript only: not those of declarations, nor the URL of the worker's file.
    const rewritten = text.replaceAll(/((?:from |import\(|new URL\()'\.{1,2}\/[a-z0-9/-]+)\.ts'/g, "$1.js'");
    if (rewritten !== text) await writeFile(path, rewritten);
  }
}

/**
 * Builds the package: the client `data-out`, which is one file, and the library. It depends on no other package, so that
 * it is installed without a network, and without what only the service needs.
 *
 * @param outDir is emptied first.
 */
export async function buildPackage(outDir: string): Promise<void> {
  await rm(outDir, { recursive: true, force: true });
  const library = join(outDir, 'crypt4gh');
  await buildLibrary(library);
  const bundled = new Set([...(await bundleDependency(library)), ...(await bundleClient(outDir))]);
  await writeFile(join(outDir, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await writeFile(join(outDir, 'THIRD-PARTY-LICENSES.txt'), await licencesOf([...bundled].sort()));
  await mkdir(join(outDir, 'docs/reference'), { recursive: true });
  await cp(join(root, 'LICENSE'), join(outDir, 'LICENSE'));
  const readme = await readFile(join(root, 'docs/client.md'), 'utf8');
  await writeFile(join(outDir, 'README.md'), readme.replaceAll('](crypt4gh.md', '](docs/crypt4gh.md'));
  for (const page of ['docs/crypt4gh.md', 'docs/reference/crypt4gh.md']) {
    await cp(join(root, page), join(outDir, page));
  }
}

const { name, version, license } = packageJson;
const manifest = {
  name,
  version,
  description:
    'Client for data-out archives: list, download, encrypt and decrypt Crypt4GH files; with a Crypt4GH library',
  license,
  type: 'module',
  engines: { node: '>=22' },
  bin: { 'data-out': 'bin/data-out.js' },
  exports: {
    './crypt4gh': { types: './crypt4gh/index.d.ts', default: './crypt4gh/index.js' },
    './crypt4gh/segment-worker': './crypt4gh/threads/segment-worker.js',
    './package.json': './package.json',
  },
};

const banner = { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" };
const shared = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: engine,
  legalComments: 'none',
  metafile: true,
} as const;

/** The threads of the client run the file of the library; of the manifest the client needs its version alone. */
const clientFiles: Plugin = {
  name: 'client-files',
  setup({ onLoad }) {
    const manifestPath = join(root, 'package.json');
    onLoad({ filter: /[\\/]package\.json$/ }, ({ path }) =>
      path === manifestPath ? { contents: JSON.stringify({ version }), loader: 'json' } : undefined,
    );
    onLoad({ filter: /[\\/]crypt4gh[\\/]threads[\\/]segment-workers\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text.replace("new URL('./segment-worker.ts'", "new URL('../crypt4gh/threads/segment-worker.js'");
      if (contents === text) throw new Error('the URL of the worker file is not where it was');
      return { contents, loader: 'ts' };
    });
  },
};

/** @returns the packages that are in it */
async function bundleClient(outDir: string): Promise<readonly string[]> {
  const { metafile } = await build({
    ...shared,
    banner,
    entryPoints: ['bin/data-out.ts'],
    outfile: join(outDir, 'bin/data-out.js'),
    minify: true,
    keepNames: true,
    plugins: [clientFiles],
  });
  return packagesOf(metafile);
}

/** The one dependency of the library goes beside it. @returns the packages that are in it */
async function bundleDependency(library: string): Promise<readonly string[]> {
  const { metafile } = await build({
    ...shared,
    // For a browser, esbuild adds no require(). A project that bundles the library again may declare one itself.
    platform: 'browser',
    stdin: { contents: "export { pbkdf } from 'bcrypt-pbkdf';", resolveDir: root },
    outfile: join(library, 'bcrypt-pbkdf.js'),
  });
  const path = join(library, 'keys/kdf.js');
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replace("import('bcrypt-pbkdf')", "import('../bcrypt-pbkdf.js')"));
  return packagesOf(metafile);
}

/** The packages of which a bundle holds code. */
function packagesOf({ outputs }: Metafile): readonly string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .flatMap(([input]) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []);
}

/** What the licences of bundled packages ask for: that they come along. */
async function licencesOf(packages: readonly string[]): Promise<string> {
  const texts = packages.map(async (each) => {
    const folder = join(root, 'node_modules', each);
    const { version: installed, license: kind } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) return `${each} ${installed}: ${kind}\n`;
    return `${each} ${installed}: ${kind}\n\n${(await readFile(join(folder, file), 'utf8')).trim()}\n`;
  });
  return `bin/data-out.js and crypt4gh/bcrypt-pbkdf.js hold parts of these packages.\n\n${(await Promise.all(texts)).join(`\n${'-'.repeat(72)}\n\n`)}`;
}

if (import.meta.main) await buildPackage(join(root, 'dist/package'));
