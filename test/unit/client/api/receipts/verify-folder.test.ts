import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Claims } from '../../../../../lib/client/api/receipts/claims.ts';
import {
  type VerifiedFile,
  type VerifyFolderOptions,
  verifyFolder,
} from '../../../../../lib/client/api/receipts/verify-folder.ts';
import type { DeliveredFile, DeliveryReceipt } from '../../../../../lib/contract/delivery.ts';
import { encrypt, encryptHeader, generateKeyPair, openHeader } from '../../../../../lib/crypt4gh/index.ts';
import { containerOf } from '../../../../helpers/client-world.ts';
import { all } from '../../../../helpers/download-world.ts';
import { deliveredFile, receiptOf, requestId } from '../../../../helpers/receipts.ts';

/** Bytes of the header of one recipient, and of an encrypted segment (Crypt4GH § 2). */
const [headerBytes, segmentBytes] = [124, 65_564];
const { privateKey, publicKey } = generateKeyPair();
/** Four whole segments and a part of one. */
const plaintext = randomBytes(4 * 65_536 + 1000);
const container = await containerOf(plaintext, publicKey);
const name = 'EGAF00000000001-a.bam.c4gh';
const plainName = 'EGAF00000000001-a.bam';
const listed = await deliveredFile(name, container, { plaintext });

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-verify-'));
});
afterEach(() => rm(folder, { recursive: true }));

const put = (file: string, content: Uint8Array) => writeFile(join(folder, file), content);

/** Verifies the folder. @param from one receipt, or the files of one */
async function verified(
  from: readonly DeliveredFile[] | readonly DeliveryReceipt[],
  options: Partial<VerifyFolderOptions> = {},
): Promise<readonly VerifiedFile[]> {
  const receipts = from.map((each) => ('jti' in each ? each : receiptOf([each])));
  const claims = new Claims(receipts);
  const reading = () => ({ add: () => {}, end: () => {} });
  const inOutbox = async () => undefined;
  return await all(verifyFolder({ folder, claims, privateKeys: [], inOutbox, reading, signal: undefined, ...options }));
}

const withKey = { privateKeys: [privateKey] };

function segment(index: number): Buffer {
  return container.subarray(headerBytes + index * segmentBytes, headerBytes + (index + 1) * segmentBytes);
}
const header = container.subarray(0, headerBytes);
const [first, second, third, fourth, last] = [0, 1, 2, 3, 4].map(segment) as [Buffer, Buffer, Buffer, Buffer, Buffer];

describe('a whole file', () => {
  test('is verified by its bytes, and with a key by its plaintext', async () => {
    await put(name, container);
    expect(await verified([listed])).toEqual([
      { name, state: 'bytes', size: container.length, requestId: requestId(1), detail: undefined },
    ]);
    expect(await verified([listed], withKey)).toMatchObject([{ name, state: 'plaintext' }]);
  });

  test('that is decrypted is verified by its plaintext, without a key', async () => {
    await put(plainName, plaintext);
    expect(await verified([listed])).toMatchObject([{ name: plainName, state: 'plaintext', size: plaintext.length }]);
    await put(plainName, Buffer.concat([plaintext.subarray(1), Buffer.of(0)]));
    expect(await verified([listed])).toMatchObject([{ name: plainName, state: 'differs' }]);
    await put(plainName, plaintext.subarray(1));
    expect(await verified([listed])).toMatchObject([{ state: 'differs', detail: expect.stringContaining('bytes') }]);
  });

  test('with an edit list is verified by the plaintext that was submitted, of which the list keeps a part', async () => {
    const source = [plaintext];
    const edited = Buffer.concat(await all(encrypt(source, { recipients: [publicKey], editList: [10n, 100n] })));
    await put(name, edited);
    const claim = await deliveredFile(name, edited, { plaintext, headerBytes: edited.length - container.length + 124 });
    expect(await verified([claim], withKey)).toMatchObject([{ state: 'plaintext' }]);
    expect(await verified([claim])).toMatchObject([{ state: 'bytes' }]);
  });

  test('with an edit list that was added to its header differs, although the plaintext is the submitted one', async () => {
    const { dataKeys } = openHeader(container, [privateKey]);
    const header = encryptHeader({ dataKeys, editList: [0n, 10n], recipients: [publicKey] });
    await put(name, Buffer.concat([header, container.subarray(124)]));
    expect(await verified([listed], withKey)).toMatchObject([
      { state: 'differs', detail: expect.stringContaining('edit list') },
    ]);
  });

  test('that no key opens is verified by its bytes, and says so', async () => {
    await put(name, container);
    const options = { privateKeys: [generateKeyPair().privateKey] };
    expect(await verified([listed], options)).toMatchObject([{ state: 'bytes', detail: 'no key opens it' }]);
  });

  test('of which the receipt has no checksum is not verified by its size', async () => {
    const { crc64nvme: _crc, plaintext_sha256: _digest, ...bare } = listed;
    await put(name, container);
    await put(plainName, plaintext);
    const states = [
      { name, state: 'size_only' },
      { name: plainName, state: 'size_only' },
    ];
    expect(await verified([bare])).toMatchObject(states);
    expect(await verified([bare], withKey)).toMatchObject(states);
    await put(name, Buffer.concat([Buffer.of(0), container.subarray(1)]));
    expect(await verified([bare])).toMatchObject([{ name, state: 'differs' }, {}]);
  });
});

describe('a container is found to differ, by CRC and with a key, when its segments are', () => {
  test.each([
    ['swapped', [first, third, second, fourth, last]],
    ['cut at the end', [first, second, third, fourth]],
    ['doubled in the place of another', [first, second, second, fourth, last]],
    ['changed by one bit', [first, second, third, fourth, Buffer.from(last).fill(last[500]! ^ 1, 500, 501)]],
  ])('%s', async (_how, segments) => {
    await put(name, Buffer.concat([header, ...segments]));
    expect(await verified([listed])).toMatchObject([{ name, state: 'differs' }]);
    expect(await verified([listed], withKey)).toMatchObject([{ name, state: 'differs' }]);
  });

  test('those of another file of the same key', async () => {
    const other = await containerOf(plaintext, publicKey);
    await put(name, Buffer.concat([header, other.subarray(headerBytes)]));
    expect(await verified([listed])).toMatchObject([{ state: 'differs' }]);
    expect(await verified([listed], withKey)).toMatchObject([{ state: 'differs' }]);
  });
});

describe('a file that is missing', () => {
  test('is not downloaded if the outbox has it, expired if it does not, and missing if it cannot be asked', async () => {
    expect(await verified([listed])).toMatchObject([{ name, state: 'missing' }]);
    const inOutbox = async () => new Set([name]);
    expect(await verified([listed], { inOutbox })).toMatchObject([{ state: 'not_downloaded' }]);
    expect(await verified([listed], { inOutbox: async () => new Set() })).toMatchObject([{ name, state: 'expired' }]);
  });

  test('was not delivered, if the receipt says so', async () => {
    const missing = [
      { file_id: 'EGAF00000000002', path: '/b', reason: 'given_up' },
      { file_id: 'EGAF00000000003', path: '/c', reason: 'superseded', by: requestId(2) },
    ];
    const old = receiptOf([], { complete: false, missing });
    const rows = await verified([old]);
    expect(rows).toMatchObject([
      { name: 'EGAF00000000002', state: 'undelivered', detail: 'given_up' },
      { name: 'EGAF00000000003', state: 'undelivered', detail: `superseded by ${requestId(2)}` },
    ]);
    const later = await deliveredFile('EGAF00000000003-c.c4gh', container);
    await put(later.name, container);
    const newer = receiptOf([later], { jti: requestId(2), requested_at: '2026-09-22T10:00:00Z' });
    expect(await verified([old, newer])).toMatchObject([
      { name: later.name, state: 'bytes', requestId: requestId(2) },
      { name: 'EGAF00000000002', state: 'undelivered' },
    ]);
  });
});

describe('of several receipts', () => {
  const other = { ...listed, crc64nvme: 'rosUhgp5mIg=' };
  test('the newest request wins for a name, in whatever order they are read', async () => {
    await put(name, container);
    const old = receiptOf([other], { requested_at: '2026-09-21T10:00:00+02:00' });
    const newer = receiptOf([listed], { jti: requestId(2), requested_at: '2026-09-21T09:00:00Z' });
    expect(await verified([old, newer])).toMatchObject([{ state: 'bytes', requestId: requestId(2) }]);
    expect(await verified([newer, old])).toMatchObject([{ state: 'bytes', requestId: requestId(2) }]);
  });
});

test('a container without a receipt is shown; other files and folders are left alone', async () => {
  await put('EGAF9-x.c4gh', container);
  await put('notes.txt', Buffer.from('hello'));
  await mkdir(join(folder, 'sub'));
  expect(await verified([])).toMatchObject([{ name: 'EGAF9-x.c4gh', state: 'no_receipt', size: container.length }]);
});

describe('under its submitted path', () => {
  const at = (path: string) => ({ ...listed, path });

  test.each(['x.bam', '/x.bam.c4gh', 'study/x.bam'])('a container is listed by its receipt: %s', async (path) => {
    const saved = join('.', `${path.replace(/\.c4gh$/, '')}.c4gh`);
    await mkdir(join(folder, 'study'));
    await put(saved, container);
    await put('other.c4gh', container);
    expect(await verified([at(path)])).toMatchObject([
      { name: saved.replace(/^\//, ''), state: 'bytes' },
      { name: 'other.c4gh', state: 'no_receipt' },
    ]);
  });

  test('a container is found whose id was put before its name, since a twin was known then', async () => {
    await mkdir(join(folder, 'study'));
    await put(join('study', name), container);
    expect(await verified([at('study/x.bam')])).toMatchObject([{ name: join('study', name), state: 'bytes' }]);
  });

  test.each(['x.bam', 'study/x.bam'])('a download was begun: %s', async (path) => {
    await mkdir(join(folder, 'study'));
    await put(`${path}.c4gh.part`, Buffer.alloc(0));
    expect(await verified([at(path)])).toMatchObject([{ name, state: 'not_downloaded' }]);
  });
});
