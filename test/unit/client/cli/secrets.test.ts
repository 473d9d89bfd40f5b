import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSecretFile, readSmallFile } from '../../../../lib/client/cli/secrets.ts';
import { formatPrivateKey, generateKeyPair } from '../../../../lib/crypt4gh/index.ts';
import { runCli } from '../../../helpers/cli-run.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-secrets-'));
});
afterAll(() => rm(folder, { recursive: true }));

const read = (path: string) => readSecretFile('--visa', path);

test('a secret that was renewed is read again', async () => {
  const path = join(folder, 'visa');
  await writeFile(path, 'one\r\n');
  expect(await read(path)).toBe('one');
  await writeFile(path, 'two');
  expect(await read(path)).toBe('two');
});

test('a pipe is waited for, and this thread works on meanwhile', async () => {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const reading = read(path);
  await writeFile(path, 'from another process\n');
  expect(await reading).toBe('from another process');
});

test.each(['a file', 'an endless device'])('%s of more bytes than the limit is refused', async (what) => {
  const path = what === 'a file' ? join(folder, 'large') : '/dev/zero';
  if (what === 'a file') await writeFile(path, 'x'.repeat(101));
  await expect(readSmallFile('--keys', path, 100)).rejects.toThrow(`${path} is too large: expected at most 100 bytes`);
});

test('what cannot be read is named with its setting', async () => {
  const missing = join(folder, 'missing');
  await expect(read(missing)).rejects.toMatchObject({
    code: 'not_found',
    message: `--visa: there is no file ${missing}`,
  });
  await expect(read(folder)).rejects.toThrow(`--visa: ${folder} cannot be read (EISDIR)`);
});

const { privateKey } = generateKeyPair();
const pem = await formatPrivateKey(privateKey);
const ofKey = pem.split('\n')[1] ?? '';
const service = { DATA_OUT_URL: 'https://service.test/', DATA_OUT_VISA: 'a.b.c' };
test.each<[string, string[], Record<string, string>, string, RegExp]>([
  ['a key as --key', ['decrypt', '--key', pem, '-'], {}, ofKey, /--key: expected the name of a file, got the key/],
  ['a key as its variable', ['decrypt', '-'], { DATA_OUT_KEY_FILE: pem }, ofKey, /the name of a file, got the key/],
  [
    'a wrong passphrase',
    ['decrypt', '--key', 'protected.pem', '-'],
    { DATA_OUT_PASSPHRASE: 'not-this-one' },
    'not-this-one',
    /the passphrase is wrong\nCheck/,
  ],
  [
    'the password of a dead forward proxy',
    ['list'],
    { ...service, HTTPS_PROXY: 'http://user:hunter-two@127.0.0.1:9' },
    'hunter-two',
    /your forward proxy 127\.0\.0\.1:9 \(HTTPS_PROXY\)/,
  ],
])('no error repeats %s', async (_what, argv, env, secret, message) => {
  await writeFile(join(folder, 'protected.pem'), await formatPrivateKey(privateKey, { passphrase: 'right' }));
  const { exitCode, stdout, stderr } = await runCli(argv, { folder, env });
  expect(exitCode).toBeGreaterThan(0);
  expect(stderr).toMatch(message);
  expect(`${stdout}${stderr}`).not.toContain(secret);
});
