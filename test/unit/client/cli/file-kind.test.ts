import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../../../helpers/cli-run.ts';
import { unverifiedToken, visaClaims } from '../../../helpers/unverified-token.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out mixed up 😀 '));
  const visa = unverifiedToken(visaClaims('EGAD1', { exp: 4_102_444_800 }));
  await writeFile(join(folder, 'visa.jwt'), visa);
  await writeFile(join(folder, 'input 😀'), 'data');
  for (const argv of [
    ['keys', 'generate', 'me', '--no-passphrase'],
    ['encrypt', '-r', 'me.pub.pem', 'input 😀'],
  ]) {
    expect((await runCli(argv, { folder })).exitCode).toBe(0);
  }
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'ssh')]);
  const ofPutty = execFileSync('ssh-keygen', ['-e', '-f', join(folder, 'ssh.pub')]);
  await writeFile(join(folder, 'putty.pub'), ofPutty);
  await writeFile(join(folder, 'batch.csv'), 'id,type,visa,public_key\nEGAD1,,visa.jwt,me.sec.pem\n');
});
afterAll(() => rm(folder, { recursive: true }));

const run = (...argv: string[]) =>
  runCli(argv, { folder, env: { DATA_OUT_URL: 'http://127.0.0.1:1/', DATA_OUT_VISA_FILE: 'visa.jwt' } });

describe('a private key in the place of a public one', () => {
  test.each([
    ['encrypt', ['encrypt', '-r', 'me.sec.pem', '-o', 'out', 'input 😀']],
    ['encrypt, of OpenSSH', ['encrypt', '-r', 'ssh', '-o', 'out', 'input 😀']],
    ['reencrypt', ['reencrypt', '--key', 'me.sec.pem', '-r', 'me.sec.pem', '-o', 'out', 'input 😀.c4gh']],
    ['decrypt', ['decrypt', '--key', 'me.sec.pem', '--sender', 'me.sec.pem', '-o', 'out', 'input 😀.c4gh']],
  ])('%s: refuses it, and says that it is compromised if it was sent', async (_what, argv) => {
    const { exitCode, stderr } = await run(...argv);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 2 });
    expect(stderr).toMatch(/is a PRIVATE key, but a public key is needed here\n.*….pub.pem.*ask for a new key/);
    const secret = await readFile(join(folder, 'me.sec.pem'), 'utf8');
    expect(stderr).not.toContain(secret.split('\n')[1]);
  });
});

describe('files in the place of others are named', () => {
  test.each([
    [
      'a visa as a public key',
      ['encrypt', '-r', 'visa.jwt', 'input 😀'],
      /expected a public key, but .*visa\.jwt is a visa/,
    ],
    [
      'a public key of PuTTY, with the way to convert it',
      ['encrypt', '-r', 'putty.pub', 'input 😀'],
      /is a key of PuTTY, which cannot be used\n.*ssh-keygen -i -f/,
    ],
    ['a container as a public key', ['encrypt', '-r', 'input 😀.c4gh', 'input 😀'], /is a Crypt4GH file/],
    [
      'a visa as a private key',
      ['decrypt', '-o', 'out', '--key', 'visa.jwt', 'input 😀.c4gh'],
      /expected a private key, got a visa/,
    ],
    [
      'a public key as a private one',
      ['decrypt', '-o', 'out', '--key', 'me.pub.pem', 'input 😀.c4gh'],
      /got a public key\n.*….sec.pem/,
    ],
    [
      'a line of OpenSSH as a private key',
      ['decrypt', '-o', 'out', '--key', 'ssh.pub', 'input 😀.c4gh'],
      /got a public key/,
    ],
    [
      'a private key as a visa',
      ['list', '--visa', 'me.sec.pem'],
      /--visa: expected a visa or passport, got a private key/,
    ],
    ['a public key as a visa', ['list', '--visa', 'me.pub.pem'], /got a public key/],
    ['a container as a visa', ['list', '--visa', 'input 😀.c4gh'], /got a Crypt4GH file/],
  ])('%s', async (_what, argv, reason) => {
    const { exitCode, stderr } = await run(...argv);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(reason) });
  });
});
