import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { blocksOf } from '../helpers/pages.ts';

const root = join(import.meta.dirname, '../..');

/** Files with secrets that an operator makes in the checkout, by the pages or under the names that commands suggest. */
const names = [
  'private/state/connection.json',
  'private/archive.sec.pem',
  'state/connection.json',
  'state/kms-keys.json',
  '.local/connection.json',
  'delivery/EGAF00000000001-sample.json',
  'archive.sec.pem',
  'keys/archive-2027.sec.pem',
  'visa.jwt',
  'alice.password',
  'smoke-issuer.json',
  'smoke-issuer-2027.json',
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'data-out-checkout-'));
  spawnSync('git', ['init', '--quiet', folder]);
  for (const name of ['.gitignore', 'biome.json']) cpSync(join(root, name), join(folder, name));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const name of [...names, 'other.json']) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    // As a linter shows it: not formatted.
    writeFileSync(join(folder, name), '{"password":"correct-horse"   }');
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

test('Git takes none of them', () => {
  const { stdout } = spawnSync('git', ['-C', folder, 'status', '--porcelain', '-uall'], { encoding: 'utf8' });
  expect(stdout).toBe('?? .gitignore\n?? biome.json\n?? node_modules\n?? other.json\n');
});

test('the linter shows none of them', () => {
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
  const { stdout, stderr } = spawnSync(process.execPath, [biome, 'check', '--max-diagnostics=none', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const said = `${stdout}${stderr}`;
  expect(said).toContain('other.json');
  expect(names.filter((name) => said.includes(name))).toEqual([]);
});

test("the operator's page writes into the ignored folder alone", () => {
  const written = blocksOf('docs/operators.md').flatMap(({ text }) =>
    [
      ...text.matchAll(
        /(?:^npx data-out keys generate|^npm start .*--data-dir|.* -o|^head .*>|--make-issuer) ([^\s]+)/gm,
      ),
    ].map(([, path = '']) => path),
  );
  expect(written.length).toBeGreaterThan(6);
  expect(written.filter((path) => !path.startsWith('private/'))).toEqual([]);
});
