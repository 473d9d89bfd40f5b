#!/usr/bin/env node
import { execFileSync } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const typescript = createRequire(import.meta.url).resolve('typescript/package.json');

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
  for (const name of await readdir(outDir)) {
    const path = join(outDir, name);
    const text = await readFile(path, 'utf8');
    // The compiler rewrites imports of JavaScript only: not those of declarations, nor the URL of the worker's file.
    const rewritten = text.replaceAll(/((?:from |import\(|new URL\()'\.\/[a-z0-9-]+)\.ts'/g, "$1.js'");
    if (rewritten !== text) await writeFile(path, rewritten);
  }
}

if (import.meta.main) await buildLibrary(join(root, 'dist/crypt4gh'));
