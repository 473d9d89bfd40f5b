import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DeliveredFile } from '../../../../../lib/contract/delivery.ts';
import { encrypt, formatPrivateKey, generateKeyPair, publicKeyFingerprint } from '../../../../../lib/crypt4gh/index.ts';
import { runCli } from '../../../../helpers/cli-run.ts';
import { containerOf } from '../../../../helpers/client-world.ts';
import { collect } from '../../../../helpers/crypt4gh-vectors.ts';
import { OutboxServer } from '../../../../helpers/outbox-server.ts';
import { deliveredFile, ReceiptSigner, receiptOf, requestId } from '../../../../helpers/receipts.ts';

/** `decrypt` of a folder with delivery receipts. */
const signer = new ReceiptSigner();
const { privateKey, publicKey } = generateKeyPair();
const [headerBytes, segmentBytes] = [124, 65_564];
const plaintexts = [randomBytes(2 * 65_536 + 1000), randomBytes(200)] as const;
const containers = await Promise.all(plaintexts.map((each) => containerOf(each, publicKey)));
const [large, small] = containers as [Buffer, Buffer];
const [largeName, smallName] = ['EGAF00000000001-a.bam.c4gh', 'EGAF00000000002-b.txt.c4gh'] as const;
const [largePlain, smallPlain] = ['EGAF00000000001-a.bam', 'EGAF00000000002-b.txt'] as const;
const listed = await Promise.all([
  deliveredFile(largeName, large, { plaintext: plaintexts[0] }),
  deliveredFile(smallName, small, { plaintext: plaintexts[1] }),
]);
/** As large as the first. */
const other = await containerOf(randomBytes(plaintexts[0].length), publicKey);
const receiptName = `EGAD00000000001-${requestId(1)}.delivery.jws`;

let server: OutboxServer;
let folder: string;
beforeAll(async () => {
  server = await OutboxServer.start();
  server.keySet = signer.keySet;
});
afterAll(() => server?.stop());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-decrypt-'));
  await writeFile(join(folder, 'me.sec.pem'), await formatPrivateKey(privateKey), { mode: 0o600 });
  await put(`data/${largeName}`, large);
  await put(`data/${smallName}`, small);
  await deliver(listed);
});
afterEach(() => rm(folder, { recursive: true }));

async function put(name: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), bytes);
}

async function deliver(files: readonly DeliveredFile[]): Promise<void> {
  const receipt = receiptOf(files, { key_fingerprint: publicKeyFingerprint(publicKey) });
  await put(`data/${receiptName}`, signer.sign(receipt));
}

async function decrypt(...argv: string[]) {
  const env = { DATA_OUT_URL: server.url, DATA_OUT_KEY_FILE: 'me.sec.pem' };
  const { exitCode, stdout, stderr } = await runCli(['decrypt', ...argv], { folder, env });
  return { exitCode, stderr, stdout };
}

const toOpen = (...argv: string[]) => decrypt('data', '-o', 'open', ...argv);
const namesIn = async (name: string) => (await readdir(join(folder, name)).catch(() => [])).sort();
const read = (name: string) => readFile(join(folder, name));

describe('a folder', () => {
  test('is decrypted, and each plaintext verified by the receipts', async () => {
    const { exitCode, stderr } = await toOpen();
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/^2 of 2 files decrypted, 2 verified$/m),
    });
    expect(await namesIn('open')).toEqual([largePlain, smallPlain]);
    expect((await read(`open/${largePlain}`)).equals(plaintexts[0])).toBe(true);
  });

  test('resumes: a plaintext that is right is skipped, anything else is not touched', async () => {
    await toOpen();
    const before = await stat(join(folder, 'open', largePlain));
    await rm(join(folder, 'open', smallPlain));
    const again = await toOpen();
    expect(again).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/^2 of 2 files decrypted \(1 before\), 2 verified$/m),
    });
    expect((await stat(join(folder, 'open', largePlain))).ino).toBe(before.ino);
    await truncate(join(folder, 'open', largePlain), 65_536);
    expect(await toOpen()).toMatchObject({
      exitCode: 5,
      stderr: expect.stringContaining('exists already, with other content'),
    });
    expect((await read(`open/${largePlain}`)).length).toBe(65_536);
    expect((await toOpen('--force')).exitCode).toBe(0);
    expect((await read(`open/${largePlain}`)).equals(plaintexts[0])).toBe(true);
  });

  test('with edit lists is verified by what was submitted', async () => {
    const edited = Buffer.from(
      await collect(encrypt([plaintexts[0]], { recipients: [publicKey], editList: [5n, 10n] })),
    );
    const file = await deliveredFile(largeName, edited, {
      plaintext: plaintexts[0],
      headerBytes: edited.length - large.length + headerBytes,
    });
    await put(`data/${largeName}`, edited);
    await deliver([file, listed[1]]);
    for (let run = 0; run < 2; run += 1) {
      expect(await toOpen()).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('2 verified') });
    }
    expect((await read(`open/${largePlain}`)).equals(plaintexts[0].subarray(5, 15))).toBe(true);
    // The plaintext that is kept is a part of what was submitted, so nothing says that the container can go.
    expect((await toOpen('--delete')).exitCode).toBe(0);
    expect(await namesIn('data')).toContain(largeName);
  });
});

describe('a file that differs from its receipt', () => {
  test.each([
    [
      'swapped segments',
      Buffer.concat([
        large.subarray(0, 124),
        large.subarray(124 + 65_564, 124 + 2 * 65_564),
        large.subarray(124, 124 + 65_564),
        large.subarray(124 + 2 * 65_564),
      ]),
    ],
    ['another file', other],
  ])('is not kept, whatever else there is: %s', async (_how, bytes) => {
    await put(`data/${largeName}`, bytes);
    const { exitCode, stderr } = await toOpen('--delete');
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 10, stderr: expect.stringContaining('another SHA-256') });
    expect(await namesIn('open')).toEqual([smallPlain]);
    expect(await namesIn('data')).toEqual([receiptName, largeName]);
    const one = await decrypt(`data/${largeName}`, '-o', 'one');
    expect(one.exitCode).toBe(10);
    expect(await namesIn('.')).not.toContain('one');
    expect((await decrypt(`data/${largeName}`, '-o', '-')).exitCode).toBe(10);
  });
});

describe('--delete', () => {
  test('removes each container whose plaintext is verified, and keeps the receipts', async () => {
    expect((await toOpen('--delete')).exitCode).toBe(0);
    expect(await namesIn('data')).toEqual([receiptName]);
    expect(await namesIn('open')).toEqual([largePlain, smallPlain]);
  });

  test('keeps what no receipt names, and what one cannot prove', async () => {
    const { plaintext_sha256: _, ...bare } = listed[0];
    await deliver([bare]);
    const { exitCode, stderr } = await toOpen('--delete');
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 10,
      stderr: expect.stringContaining('2 of 2 files decrypted, 1 verified'),
    });
    expect(stderr).toContain(`wrote open/${smallPlain} (not verified: no delivery receipt names it)`);
    expect(await namesIn('data')).toEqual([receiptName, largeName, smallName]);
  });

  test('keeps everything while the receipts cannot be verified', async () => {
    await put(`data/${receiptName}`, new ReceiptSigner().sign(receiptOf(listed)));
    expect(await toOpen('--delete')).toMatchObject({ exitCode: 10, stderr: expect.stringContaining('none verified') });
    expect(await namesIn('data')).toHaveLength(3);
  });

  test.each([
    ['standard output', ['data/x.c4gh', '-o', '-']],
    ['standard input', ['-o', 'x']],
  ])('is not for %s', async (_what, argv) => {
    expect(await decrypt('--delete', ...argv)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--delete'),
    });
  });
});

describe('a container that is cut off', () => {
  const cuts = [
    ['behind the header', headerBytes],
    ['between two segments', headerBytes + segmentBytes],
    ['before its last segment', headerBytes + 2 * segmentBytes],
    ['in its last segment', large.length - 1],
    ['in a segment', headerBytes + segmentBytes + 20_000],
    ['in a nonce', headerBytes + segmentBytes + 5],
  ] as const;
  test.each(cuts)('%s is found by the size in its receipt', async (_where, size) => {
    await truncate(join(folder, 'data', largeName), size);
    const message = `is cut off: ${size} of ${large.length} bytes`;
    expect(await toOpen()).toMatchObject({ exitCode: 5, stderr: expect.stringContaining(message) });
    expect(await namesIn('open')).toEqual([smallPlain]);
    for (const output of ['one', '-']) {
      const one = await decrypt(`data/${largeName}`, '-o', output);
      expect(one).toMatchObject({ exitCode: 8, stderr: expect.stringContaining(message) });
      expect(one.stdout).toHaveLength(0);
    }
  });
});

describe('the keys of the receipts', () => {
  test('that do not come stop nothing but the verification', async () => {
    const { exitCode, stderr } = await toOpen('--url', 'http://127.0.0.1:9/');
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 10,
      stderr: expect.stringContaining('warning: the delivery receipts cannot be verified: '),
    });
    expect(await namesIn('open')).toEqual([largePlain, smallPlain]);
  }, 30_000);
});
