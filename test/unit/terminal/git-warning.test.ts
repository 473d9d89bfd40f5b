import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { warnOfCommit } from '../../../lib/terminal/git-warning.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'data-out-git-')));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

async function commitWarning(path: string): Promise<string | undefined> {
  const said: string[] = [];
  await warnOfCommit(path, { warn: (text) => said.push(text) });
  return said[0];
}
const git = (...argv: readonly string[]) => execFileSync('git', ['-C', folder, ...argv]);
const secret = () => join(folder, 'below/me.sec.pem');
const warning = () => `Git can commit the secret ${secret()}: name it in .gitignore, or move it`;

test('a file in a work tree is warned of, unless Git ignores it', async () => {
  git('init', '--quiet');
  mkdirSync(join(folder, 'below'));
  expect(await commitWarning(secret())).toBe(warning());
  writeFileSync(join(folder, '.gitignore'), '*.sec.pem\n');
  expect(await commitWarning(secret())).toBeUndefined();
});

test('a file that is tracked already is warned of, also when a pattern names it', async () => {
  git('init', '--quiet');
  mkdirSync(join(folder, 'below'));
  writeFileSync(secret(), 'x');
  git('add', '.');
  writeFileSync(join(folder, '.gitignore'), '*.sec.pem\n');
  expect(await commitWarning(secret())).toBe(warning());
});
