import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const page = readFileSync(new URL('../../../docs/releasing.md', import.meta.url), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'data-out-releasing-'));
const tarball = join(folder, 'data-out-0.2.0.tgz');

/** The commands of one block of the page, run as they stand. */
function run(block: string, change = (commands: string) => commands) {
  const [, commands] = page.match(new RegExp(`<!-- ${block} -->\n\`\`\`sh\n(.*?)\`\`\``, 's')) ?? [];
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
  writeFileSync(tarball, 'the client');
  // A terminal would be asked for a passphrase.
  run('key', (commands) => commands.replace('-f release-key', "-f release-key -N ''"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('the commands sign a tarball, and verify it', () => {
  expect(run('sign').status).toBe(0);
  const { status, stdout } = run('verify');
  expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('data-out-0.2.0.tgz: OK') });
  expect(stdout).toContain('Good "data-out" signature for data-out-release');
});

test('a tarball that was changed after it was signed is refused, even with a checksum that fits', () => {
  expect(run('sign').status).toBe(0);
  appendFileSync(tarball, '!');
  expect(run('verify').status).not.toBe(0);
  const { status, stderr, stdout } = run('verify', (commands) => commands.replace(/^sha256sum.*\n/, ''));
  expect(status).not.toBe(0);
  expect(stderr + stdout).not.toContain('Good');
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
