import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import type { AdminPage } from '../lib/contract/admin-page.ts';

/**
 * `node bin/admin-page.ts <to.json> <metafile.json>`: the administrators' page as the function beside it reads it. Style and
 * module are in the page itself: one request, and so one check of a password.
 */
const [to, metafileTo] = process.argv.slice(2);
if (!to || !metafileTo) throw new Error('expected the JSON to write, and the JSON for the report of esbuild');
const root = join(import.meta.dirname, '..');
const source = join(root, 'lib/client/admin-page');

const { outputFiles, metafile } = await build({
  absWorkingDir: root,
  entryPoints: [relative(root, join(source, 'main.ts')), relative(root, join(source, 'style.css'))],
  outdir: 'out',
  bundle: true,
  write: false,
  metafile: true,
  format: 'esm',
  platform: 'browser',
  target: ['chrome123', 'firefox120', 'safari17.5'],
  minify: true,
  charset: 'utf8',
  legalComments: 'none',
});
const textOf = (extension: string) => outputFiles.find(({ path }) => path.endsWith(extension))?.text.trim() ?? '';
const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const [script, style] = [textOf('.js'), textOf('.css')];

const page: AdminPage = {
  html: readFileSync(join(source, 'page.html'), 'utf8')
    .replace('/* style */', () => style)
    .replace('/* module */', () => script),
  scriptHash: hashOf(script),
  styleHash: hashOf(style),
};
writeFileSync(to, JSON.stringify(page));
writeFileSync(metafileTo, JSON.stringify(metafile));
