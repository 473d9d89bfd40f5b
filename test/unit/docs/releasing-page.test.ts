import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { blocksOf } from '../../helpers/pages.ts';

const blocks = blocksOf('docs/releasing.md');
const folder = mkdtempSync(join(tmpdir(), 'data-out-releasing-'));

/** The commands of one block of the page, run as they stand. */
function run(block: string, change = (commands: string) => commands) {
  const commands = blocks.find(({ comment }) => comment?.endsWith(`: ${block}`))?.text;
  if (commands === undefined) throw new Error(`the page has no block ${block}`);
  return spawnSync('bash', ['-euc', change(commands)], { cwd: folder, encoding: 'utf8' });
}

beforeAll(() => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.org', ...args], { cwd: folder });
  git('init', '--quiet');
  git('config', 'user.name', 'test');
  git('config', 'user.email', 'test@example.org');
  git('commit', '--quiet', '--allow-empty', '--message', 'test');
  // A terminal would be asked for a passphrase.
  run('key', (commands) => commands.replace('-f release-key', "-f release-key -N ''"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('the commands sign the checksums of a release, and one of its files is enough to verify', () => {
  const digest = createHash('sha256').update('the executable').digest('hex');
  writeFileSync(
    join(folder, 'SHA256SUMS'),
    `${digest}  data-out-0.2.0-linux-x64\n${digest}  data-out-0.2.0-win-x64.exe\n`,
  );
  writeFileSync(join(folder, 'data-out-0.2.0-linux-x64'), 'the executable');
  expect(run('sign').status).toBe(0);
  const { status, stdout } = run('verify');
  expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('Good "data-out" signature') });
  appendFileSync(join(folder, 'SHA256SUMS'), '\n');
  expect(run('verify').status).not.toBe(0);
  run('sign', (commands) => `rm SHA256SUMS.sig\n${commands}`);
  appendFileSync(join(folder, 'data-out-0.2.0-linux-x64'), '!');
  expect(run('verify').status).not.toBe(0);
});

test('a signature of another key is refused', () => {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'other-key')]);
  expect(run('sign', (commands) => `rm -f *.sig\n${commands.replace('release-key', 'other-key')}`).status).toBe(0);
  expect(run('verify').status).not.toBe(0);
});

test('the commands sign a tag, and verify it', () => {
  expect(run('tag').status).toBe(0);
  expect(run('verify tag').stderr).toContain('Good "git" signature for data-out-release');
});
