import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { freshAssembly } from '../../lib/local/template/fresh-assembly.ts';

/** In the place of the CDK's command: counts its runs, writes what it reads into a template and a bundle. */
const fakeCdk = `
const { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
appendFileSync('runs', process.argv.slice(2).join(' ') + '\\n');
const output = process.argv[process.argv.indexOf('--output') + 1];
const source = readFileSync('lambdas/a.ts', 'utf8');
console.log('Bundling asset ...');
if (existsSync('busy')) {
  rmSync('busy');
  console.error('Another CLI (PID=1) is currently synthing to ' + output);
  process.exit(1);
}
if (source.includes('broken')) { console.error('a.ts:1: unexpected token'); process.exit(1); }
mkdirSync(output + '/asset.abc', { recursive: true });
writeFileSync(output + '/manifest.json', '{}');
writeFileSync(output + '/performance-counters.json', String(process.hrtime.bigint()));
writeFileSync(output + '/Some.template.json', JSON.stringify({ source }));
`;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'data-out-synth-'));
  write('node_modules/aws-cdk/bin/cdk', fakeCdk);
  for (const path of [
    'lambdas/a.ts',
    'lib/visas/a.ts',
    'lib/client/cli/a.ts',
    'bin/settings.ts',
    'package-lock.json',
    'cdk.json',
  ])
    write(path, 'first');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const at = (path: string) => join(root, path);
function write(path: string, text: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
}
const runs = () => (existsSync(at('runs')) ? readFileSync(at('runs'), 'utf8').trim().split('\n').length : 0);

test('the first time it synthesizes, and says so before', async () => {
  let before: number | undefined;
  const folder = await freshAssembly({
    root,
    onSynth: () => {
      before = runs();
    },
  });
  expect([folder, before, runs()]).toEqual([at('cdk.out/local'), 0, 1]);
});

test('with nothing changed it does not, also when a file is only touched', async () => {
  await freshAssembly({ root });
  write('lambdas/a.ts', 'first');
  write('unrelated.md', 'a page');
  await freshAssembly({ root, onSynth: () => expect.unreachable() });
  expect(runs()).toBe(1);
});

describe('it synthesizes again', () => {
  beforeEach(() => freshAssembly({ root }));

  test.each([
    ['another content', () => appendFileSync(at('lambdas/a.ts'), ' second')],
    ['a new file', () => write('config/trusted-issuers.json', '')],
    ['a bundle is lost', () => rmSync(at('cdk.out/local/asset.abc'), { recursive: true })],
  ])('after %s', async (_, change) => {
    change();
    await freshAssembly({ root });
    expect(runs()).toBe(2);
  });

  test('but not after a synth of what is deployed, which it leaves alone', async () => {
    for (const name of ['manifest.json', 'Some.template.json']) write(`cdk.out/${name}`, 'deployed');
    await freshAssembly({ root });
    expect(runs()).toBe(1);
    write('lambdas/a.ts', 'second');
    await freshAssembly({ root });
    expect(readFileSync(at('cdk.out/Some.template.json'), 'utf8')).toBe('deployed');
  });
});

test('two at the same time share one synth', async () => {
  await Promise.all([freshAssembly({ root }), freshAssembly({ root })]);
  expect(runs()).toBe(1);
});

test('a lock of a process that has ended is taken over', async () => {
  write('cdk.out/local/inputs.lock', '999999999');
  await freshAssembly({ root });
  expect([runs(), existsSync(at('cdk.out/local/inputs.lock'))]).toEqual([1, false]);
});
