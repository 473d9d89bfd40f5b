import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatPrivateKey, generateKeyPair, publicKeyFingerprint } from '../../../../../lib/crypt4gh/index.ts';
import { runClient } from '../../../../helpers/client-process.ts';
import { containerOf } from '../../../../helpers/client-world.ts';
import { deliveredFile, ReceiptSigner, receiptOf } from '../../../../helpers/receipts.ts';

const { privateKey, publicKey } = generateKeyPair();
const plaintexts = ['a', 'b', 'c'].map((name) => [name, randomBytes(1000)] as const);
const signer = new ReceiptSigner();
// Root may read everything, so another user tries.
const uid = process.getuid?.() === 0 ? 65_534 : undefined;
let folder = '';

/** A folder that several people share: one container and one plaintext belong to others. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-shared-'));
  await mkdir(join(folder, 'data'));
  // The folder of the run belongs to its user alone.
  await chmod(tmpdir(), 0o711);
  for (const path of [folder, join(folder, 'data')]) await chmod(path, 0o777);
  await writeFile(join(folder, 'me.sec.pem'), await formatPrivateKey(privateKey));
  await writeFile(join(folder, 'jwks.json'), JSON.stringify(signer.keySet));
  const files = [];
  for (const [name, plaintext] of plaintexts) {
    const container = await containerOf(plaintext, publicKey);
    await writeFile(join(folder, 'data', `${name}.bam.c4gh`), container);
    files.push(await deliveredFile(`${name}.bam.c4gh`, container, { plaintext }));
  }
  const receipt = signer.sign(receiptOf(files, { key_fingerprint: publicKeyFingerprint(publicKey) }));
  await writeFile(join(folder, 'data/x.delivery.jws'), receipt);
  await writeFile(join(folder, 'data/y.delivery.jws'), receipt, { mode: 0 });
  await writeFile(join(folder, 'data/a.bam'), plaintexts[0]?.[1] ?? '', { mode: 0 });
  await chmod(join(folder, 'data/b.bam.c4gh'), 0);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const run = (...argv: string[]) =>
  runClient([...argv, '--keys', 'jwks.json'], { folder, env: { HOME: folder }, ...(uid !== undefined && { uid }) });

test('verify shows what it may not read, and continues', async () => {
  const { exitCode, stdout, stderr } = await run('verify', 'data');
  expect(stdout.split('\n').map((line) => line.trim().split(/ {2,}/).slice(0, 2))).toEqual([
    ['NAME', 'STATE'],
    ['a.bam.c4gh', 'bytes'],
    ['a.bam', 'cannot be read'],
    ['b.bam.c4gh', 'cannot be read'],
    ['c.bam.c4gh', 'bytes'],
    [''],
  ]);
  expect(stderr).toContain('warning: y.delivery.jws: this receipt cannot be read');
  expect(exitCode).toBe(10);
});

test('decrypt names what it may not read, and decrypts the others', async () => {
  const { exitCode, stderr } = await run('decrypt', '--key', 'me.sec.pem', 'data');
  expect(stderr).toMatch(/warning: .*a\.bam cannot be read: permission denied/);
  expect(stderr).toMatch(/warning: data\/b\.bam\.c4gh cannot be read: permission denied/);
  expect(stderr).toContain('1 of 3 files decrypted, 1 verified');
  expect((await readFile(join(folder, 'data/c.bam'))).equals(plaintexts[2]?.[1] ?? Buffer.alloc(0))).toBe(true);
  expect(exitCode).toBe(5);
});
