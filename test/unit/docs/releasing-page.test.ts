import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { blocksOf } from '../../helpers/pages.ts';

const blocks = blocksOf('docs/releasing.md');
const folder = mkdtempSync(join(tmpdir(), 'data-out-releasing-'));
/** With what is published. */
const published = join(folder, 'dist/executables');

/** The commands of one block of the page, run as they stand. */
function run(block: string, change = (commands: string) => commands, cwd = folder) {
  const commands = blocks.find(({ comment }) => comment?.endsWith(`: ${block}`))?.text;
  if (commands === undefined) throw new Error(`the page has no block ${block}`);
  return spawnSync('bash', ['-euc', change(commands)], { cwd, encoding: 'utf8' });
}

beforeAll(() => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.org', ...args], { cwd: folder });
  git('init', '--quiet');
  git('config', 'user.name', 'test');
  git('config', 'user.email', 'test@example.org');
  git('commit', '--quiet', '--allow-empty', '--message', 'test');
  // A terminal would be asked for a passphrase.
  mkdirSync(join(folder, 'private'));
  mkdirSync(published, { recursive: true });
  run('key', (commands) => commands.replace('-f private/release-key', "-f private/release-key -N ''"));
  copyFileSync(join(folder, 'release-signers'), join(published, 'release-signers'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('the commands sign the checksums of a release, and one of its files is enough to verify', () => {
  const digest = createHash('sha256').update('the executable').digest('hex');
  writeFileSync(
    join(published, 'SHA256SUMS'),
    `${digest}  data-out-0.2.0-linux-x64\n${digest}  data-out-0.2.0-win-x64.exe\n`,
  );
  writeFileSync(join(published, 'data-out-0.2.0-linux-x64'), 'the executable');
  expect(run('sign').status).toBe(0);
  const verify = () => run('verify', undefined, published);
  const { status, stdout } = verify();
  expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('Good "data-out" signature') });
  appendFileSync(join(published, 'SHA256SUMS'), '\n');
  expect(verify().status).not.toBe(0);
  run('sign', (commands) => `rm dist/executables/SHA256SUMS.sig\n${commands}`);
  appendFileSync(join(published, 'data-out-0.2.0-linux-x64'), '!');
  expect(verify().status).not.toBe(0);
});

test('a signature of another key is refused', () => {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'other-key')]);
  expect(
    run('sign', (commands) => `rm -f dist/executables/*.sig\n${commands.replace('private/release-key', 'other-key')}`)
      .status,
  ).toBe(0);
  expect(run('verify', undefined, published).status).not.toBe(0);
});

test('the commands sign a tag, and verify it', () => {
  expect(run('tag').status).toBe(0);
  expect(run('verify tag').stderr).toContain('Good "git" signature for data-out-release');
});
