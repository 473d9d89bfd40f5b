import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatPrivateKey, formatPublicKey, generateKeyPair } from '../../../../../lib/crypt4gh/index.ts';
import { runCli } from '../../../../helpers/cli-run.ts';
import { vectorFile } from '../../../../helpers/crypt4gh-vectors.ts';

const reader = generateKeyPair();
/** More than one batch of segments, so that threads have work. */
const plaintext = randomBytes(9 * 2 ** 20 + 5);
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-sender-'));
  await writeFile(join(folder, 'reader.sec'), await formatPrivateKey(reader.privateKey), { mode: 0o600 });
  await writeFile(join(folder, 'reader.pub'), formatPublicKey(reader.publicKey));
  await writeFile(join(folder, 'alice.sec'), vectorFile('keys/alice.sec'), { mode: 0o600 });
  await writeFile(join(folder, 'alice.pub'), vectorFile('keys/alice.pub'));
  await writeFile(join(folder, 'sample'), plaintext);
});
afterAll(() => rm(folder, { recursive: true }));

const run = (argv: readonly string[], choices: Parameters<typeof runCli>[1] = {}) =>
  runCli(argv, { folder, ...choices });
const encrypted = (...more: string[]) => run(['encrypt', '-r', 'reader.pub', ...more]);
const decrypted = (...more: string[]) => run(['decrypt', '--key', 'reader.sec', '-o', '-', ...more]);

describe('a file with a sender', () => {
  beforeAll(async () => {
    expect((await encrypted('--key', 'alice.sec', '-o', 'known.c4gh', 'sample')).exitCode).toBe(0);
    expect((await encrypted('-o', 'unknown.c4gh', 'sample')).exitCode).toBe(0);
  });

  test('is decrypted', async () => {
    const { exitCode, stdout } = await decrypted('--sender', 'alice.pub', 'known.c4gh');
    expect(exitCode).toBe(0);
    expect(stdout.equals(plaintext)).toBe(true);
  });

  test.each([
    ['to a file, on threads', ['-o', 'refused', 'unknown.c4gh']],
    ['to a pipe', ['-o', '-', 'unknown.c4gh']],
  ])('is told from one of anybody else: %s', async (_, more) => {
    const before = await readdir(folder);
    const { exitCode, stdout, stderr } = await run([
      'decrypt',
      '--key',
      'reader.sec',
      '--sender',
      'alice.pub',
      ...more,
    ]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 3,
      stderr:
        'data-out: the given key opens the header, but the expected sender did not write it\n' +
        'Ask the sender for the right public key. Leave out --sender only if it does not matter who wrote the file.\n',
    });
    expect(stdout.length).toBe(0);
    expect(await readdir(folder)).toEqual(before);
  });

  test('has it because the command line says so, not the environment', async () => {
    const env = { DATA_OUT_KEY_FILE: join(folder, 'alice.sec') };
    const { stdout } = await run(['encrypt', '-r', 'reader.pub', '-o', '-', 'sample'], { env });
    await writeFile(join(folder, 'from-env.c4gh'), stdout);
    expect((await decrypted('--sender', 'alice.pub', 'from-env.c4gh')).exitCode).toBe(3);
    await rm(join(folder, 'from-env.c4gh'));
  });

  test('has one', async () => {
    const { exitCode, stderr } = await encrypted('--key', 'alice.sec', '--key', 'reader.sec', '-o', 'two', 'sample');
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('one sender') });
  });
});
