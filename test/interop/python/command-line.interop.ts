import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { formatPrivateKey, formatPublicKey, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { runCli } from '../../helpers/cli-run.ts';
import { generatedPlaintext } from '../../helpers/crypt4gh-vectors.ts';
import { inputOf } from '../../helpers/ops-world.ts';

/** Senders and ranges between the two command lines. */
const python = process.env.CRYPT4GH_PYTHON;
if (python === undefined) throw new Error('CRYPT4GH_PYTHON names a Python that has the package crypt4gh');

const folder = mkdtempSync(join(tmpdir(), 'data-out-interop-'));
afterAll(() => rmSync(folder, { recursive: true }));
const plaintext = generatedPlaintext('command line', 200_000);
for (const name of ['sender', 'reader', 'other']) {
  const { privateKey, publicKey } = generateKeyPair();
  writeFileSync(join(folder, `${name}.sec`), await formatPrivateKey(privateKey), { mode: 0o600 });
  writeFileSync(join(folder, `${name}.pub`), formatPublicKey(publicKey));
}

const theirs = (argv: readonly string[], input: Uint8Array) =>
  execFileSync(python, ['-m', 'crypt4gh', ...argv], { cwd: folder, input, stdio: 'pipe' });
const ours = (argv: readonly string[], input: Uint8Array) => runCli(argv, { folder, input: inputOf(input) });

describe('a sender', () => {
  test('of ours is known to the reference, and another refused', async () => {
    const { stdout } = await ours(['encrypt', '-r', 'reader.pub', '--key', 'sender.sec', '-'], plaintext);
    const decrypt = (sender: string) => theirs(['decrypt', '--sk', 'reader.sec', '--sender_pk', sender], stdout);
    expect(decrypt('sender.pub').equals(plaintext)).toBe(true);
    expect(() => decrypt('other.pub')).toThrow();
  });

  test('of the reference is known to us, and another refused', async () => {
    const container = theirs(['encrypt', '--sk', 'sender.sec', '--recipient_pk', 'reader.pub'], plaintext);
    const decrypt = (sender: string) => ours(['decrypt', '--key', 'reader.sec', '--sender', sender, '-'], container);
    expect((await decrypt('sender.pub')).stdout.equals(plaintext)).toBe(true);
    expect(await decrypt('other.pub')).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('sender') });
  });
});

// Of a-b the reference takes one byte less than its help says: the end is named one higher here.
test.each([
  ['0-11', 0, 10],
  ['5-131074', 5, 131_073],
])('a range %s that the reference encrypted is read by us', async (range, start, end) => {
  writeFileSync(join(folder, 'plain'), plaintext);
  const container = execFileSync(
    'sh',
    ['-c', `"$0" -m crypt4gh encrypt --recipient_pk reader.pub --range ${range} < plain`, python],
    { cwd: folder },
  );
  const { stdout } = await ours(['decrypt', '--key', 'reader.sec', '-'], container);
  expect(stdout.equals(plaintext.subarray(start, end))).toBe(true);
});
