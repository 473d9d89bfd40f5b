import { execFileSync } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';
import packageJson from '../../package.json' with { type: 'json' };
import { clientBundle, oldestNode, packagesOf, root, shared } from './bundle.ts';
import { bundledPackage, licencesOf } from './bundled-packages.ts';
import { manPage } from './man-page.ts';

const require = createRequire(import.meta.url);
const typescript = require.resolve('typescript/package.json');

/**
 * Builds `data-out/crypt4gh`, what other projects import: JavaScript and declarations, file by file. Node runs the
 * TypeScript of this tree as it is, but not that of an installed package.
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

/** Pages that the package brings, from its root. They link to each other alone. */
export const packagePages: readonly string[] = [
  'docs/researchers.md',
  'docs/troubleshooting.md',
  'docs/command-line.md',
  'docs/glossary.md',
  'docs/crypt4gh.md',
  'docs/clients.md',
];

/**
 * Builds the package: the client `data-out`, which is two files, and the library. It depends on no other package, so that
 * it is installed without a network, and without what only the service needs.
 * @param outDir is emptied first.
 */
export async function buildPackage(outDir: string): Promise<void> {
  await rm(outDir, { recursive: true, force: true });
  const library = join(outDir, 'crypt4gh');
  await buildLibrary(library);
  // Where its name leads without `exports`, as some tools resolve it.
  await writeFile(join(library, 'segment-worker.js'), "import './threads/segment-worker.js';\n");
  await writeFile(join(library, 'segment-worker.d.ts'), 'export {};\n');
  const names = new Set([...(await bundleDependency(library)), ...(await bundleClient(join(outDir, 'bin')))]);
  const packages = await Promise.all([...names].sort().map(bundledPackage));
  const licences = licencesOf('bin/client.js and crypt4gh/bcrypt-pbkdf.js', packages);
  await writeFile(join(outDir, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await writeFile(join(outDir, 'THIRD-PARTY-LICENSES.txt'), licences);
  for (const folder of ['docs', 'man']) await mkdir(join(outDir, folder), { recursive: true });
  await writeFile(join(outDir, man), await manPage(version));
  await cp(join(root, 'LICENSE'), join(outDir, 'LICENSE'));
  const titles = [];
  for (const page of packagePages) {
    const text = await readFile(join(root, page), 'utf8');
    await writeFile(join(outDir, page), text);
    titles.push(`- [${/^# (.*)$/m.exec(text)?.[1]}](${page})\n`);
  }
  await writeFile(join(outDir, 'README.md'), `# ${name}\n\n${manifest.description}.\n\n${titles.join('')}`);
}

const { name, version, license } = packageJson;
const man = 'man/data-out.1';
const manifest = {
  name,
  version,
  description:
    'Client for data-out archives: list, download, encrypt and decrypt Crypt4GH files; with a Crypt4GH library',
  license,
  type: 'module',
  engines: { node: `>=${oldestNode}` },
  bin: { 'data-out': 'bin/data-out.js' },
  // npm links it to a folder of `man` only if it is in a list.
  man: [man],
  files: ['bin/*.js', 'bin/package.json', 'crypt4gh', 'docs', 'man', 'THIRD-PARTY-LICENSES.txt'],
  exports: {
    './crypt4gh': { types: './crypt4gh/index.d.ts', default: './crypt4gh/index.js' },
    './crypt4gh/segment-worker': './crypt4gh/segment-worker.js',
    './package.json': './package.json',
  },
};

/** In words that even an old Node.js understands: npm warns of one that is too old, and installs anyway. */
const start = `#!/usr/bin/env node
if (parseInt(process.versions.node, 10) >= ${oldestNode}) require('./client.js');
else {
  process.stderr.write(
    'data-out: needs Node ${oldestNode} or newer, but this is Node ' + process.versions.node + '\\n' +
    'Install a newer Node, or use the executable of data-out, which needs none.\\n'
  );
  process.exitCode = 2;
}
`;

/** @returns the packages that are in it */
async function bundleClient(folder: string): Promise<readonly string[]> {
  const { metafile } = await build({
    ...clientBundle("require('node:url').pathToFileURL(__dirname + '/../crypt4gh/threads/segment-worker.js')"),
    outfile: join(folder, 'client.js'),
  });
  await writeFile(join(folder, 'package.json'), '{"type":"commonjs"}\n');
  await writeFile(join(folder, 'data-out.js'), start, { mode: 0o755 });
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
