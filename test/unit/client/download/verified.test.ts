import { randomBytes } from 'node:crypto';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Claims } from '../../../../lib/client/delivery/claims.ts';
import type { DownloadFilesOptions } from '../../../../lib/client/download/download-files.ts';
import type { DeliveredFile } from '../../../../lib/contract/delivery.ts';
import { encrypt, generateKeyPair } from '../../../../lib/crypt4gh/index.ts';
import { containerOf } from '../../../helpers/client-world.ts';
import { all, DownloadWorld } from '../../../helpers/download-world.ts';
import { deliveredFile, receiptOf } from '../../../helpers/receipts.ts';

const { privateKey, publicKey } = generateKeyPair();
const smallPlain = randomBytes(3000);
const small = await containerOf(smallPlain, publicKey);
const largePlain = randomBytes(24 * 2 ** 20 + 1);
/** Four pieces. */
const large = await containerOf(largePlain, publicKey);
const [smallName, largeName] = ['EGAF1-small.c4gh', 'EGAF2-large.c4gh'];
const smallListed = await deliveredFile(smallName, small, { plaintext: smallPlain });
const largeListed = await deliveredFile(largeName, large, { plaintext: largePlain });
/** Of nine bytes: "123456789", the check value of CRC-64/NVME. */
const wrongCrc = 'rosUhgp5mIg=';

let world: DownloadWorld;
beforeAll(async () => {
  world = await DownloadWorld.start();
});
afterEach(() => world.clear());
afterAll(() => world?.stop());

function expecting(files: readonly DeliveredFile[], form: 'container' | 'plaintext' = 'container', iat?: number) {
  const claims = new Claims([receiptOf(files, iat === undefined ? {} : { iat })]);
  return { expected: ({ name }: { readonly name: string }) => claims.expected(name, form) };
}

async function outcomes(options: Partial<DownloadFilesOptions>) {
  const { files } = await world.download(options);
  return files.map(({ name, outcome, verified, error }) => [name, outcome, verified ?? error?.code]);
}

describe('a download is compared with its receipt', () => {
  test('while it comes, in any order of its pieces, without another read', async () => {
    world.server.put(smallName, small);
    world.server.put(largeName, large);
    expect(await outcomes(expecting([smallListed, largeListed]))).toEqual([
      [smallName, 'downloaded', 'bytes'],
      [largeName, 'downloaded', 'bytes'],
    ]);
    expect(world.storageBytes).toBe(small.length + large.length);
  });

  test('after interruptions, with the bytes of the run before', async () => {
    world.server.put(largeName, large);
    world.faults.break({ on: 'storage', fault: { kind: 'cut', bytes: 5_000_000 }, times: 100 });
    const retries = { attempts: 1, firstDelayMs: 1, longestDelayMs: 1 };
    const first = await world.download({ ...expecting([largeListed]), retries });
    expect(first.error?.code).toBe('unavailable');
    expect(await world.names()).toContain(`${largeName}.part`);
    world.faults.reset();
    expect(await outcomes(expecting([largeListed]))).toEqual([[largeName, 'downloaded', 'bytes']]);
    expect(world.storageBytes).toBeLessThan(large.length);
    expect((await world.read(largeName)).equals(large)).toBe(true);
  });

  test('by its plaintext when it is decrypted', async () => {
    world.server.put(smallName, small);
    world.server.put(largeName, large);
    const decrypt = { privateKeys: [privateKey] };
    expect(await outcomes({ ...expecting([smallListed, largeListed], 'plaintext'), decrypt })).toEqual([
      [smallName, 'downloaded', 'plaintext'],
      [largeName, 'downloaded', 'plaintext'],
    ]);
    expect((await world.read('EGAF2-large')).equals(largePlain)).toBe(true);
  });

  test('but not by an edited plaintext: the digest is that of the whole', async () => {
    const edited = Buffer.concat(await all(encrypt([smallPlain], { recipients: [publicKey], editList: [10n, 100n] })));
    world.server.put(smallName, edited);
    const decrypt = { privateKeys: [privateKey] };
    expect(await outcomes({ ...expecting([smallListed], 'plaintext'), decrypt })).toEqual([
      [smallName, 'downloaded', undefined],
    ]);
    expect((await world.read('EGAF1-small')).equals(smallPlain.subarray(10, 110))).toBe(true);
  });

  test('and is not verified if the receipt says too little, or nothing', async () => {
    world.server.put(smallName, small);
    world.server.put('EGAF3-other.c4gh', small);
    const { crc64nvme: _crc, ...bare } = smallListed;
    expect(await outcomes(expecting([bare]))).toEqual([
      [smallName, 'downloaded', undefined],
      ['EGAF3-other.c4gh', 'downloaded', undefined],
    ]);
  });
});

describe('a file that differs from its receipt', () => {
  test.each([
    [smallName, { ...smallListed, crc64nvme: wrongCrc }],
    [smallName, { ...smallListed, header_sha256: 'ab'.repeat(32) }],
    [largeName, { ...largeListed, crc64nvme: wrongCrc }],
  ])('is damaged, and nothing of it is kept: %s', async (name, listed) => {
    world.server.put(name, name === smallName ? small : large);
    expect(await outcomes(expecting([listed]))).toEqual([[name, 'failed', 'damaged']]);
    expect(await world.names()).toEqual([]);
  });

  test('has swapped segments, which only the digest of the plaintext shows', async () => {
    const [head, first, second] = [
      large.subarray(0, 124),
      large.subarray(124, 65_688),
      large.subarray(65_688, 131_252),
    ];
    const plain = largePlain.subarray(0, 131_072);
    const listed = await deliveredFile(smallName, Buffer.concat([head, first, second]), { plaintext: plain });
    world.server.put(smallName, Buffer.concat([head, second, first]));
    const decrypt = { privateKeys: [privateKey] };
    expect(await outcomes({ ...expecting([listed], 'plaintext'), decrypt })).toEqual([
      [smallName, 'failed', 'damaged'],
    ]);
    expect(await world.names()).toEqual([]);
  });

  test('is kept, and is not verified, if it was staged anew after the receipt', async () => {
    world.server.put(smallName, small);
    world.server.put(largeName, large);
    const files = [smallListed, largeListed].map((file) => ({ ...file, crc64nvme: wrongCrc }));
    // The server's files are of 1,700,000,000.
    expect(await outcomes(expecting(files, 'container', 1_699_999_999))).toEqual([
      [smallName, 'downloaded', undefined],
      [largeName, 'downloaded', undefined],
    ]);
  });
});

describe('a file that is there already', () => {
  test('is not read again, and is not verified', async () => {
    world.server.put(smallName, small);
    await world.download(expecting([smallListed]));
    world.faults.reset();
    expect(await outcomes(expecting([smallListed]))).toEqual([[smallName, 'skipped', undefined]]);
    expect(world.storageBytes).toBe(0);
  });

  test('is verified if it is compared with the staged file anyway', async () => {
    world.server.put(smallName, small);
    await writeFile(join(world.folder, smallName), small);
    await utimes(join(world.folder, smallName), 1, 1);
    expect(await outcomes(expecting([smallListed]))).toEqual([[smallName, 'skipped', 'bytes']]);
  });

  test('and is renewed has the bytes of the outbox, unless time and size are the same', async () => {
    world.server.put('EGAD1-r.delivery.jws', Buffer.from('old'));
    await world.download();
    world.server.put('EGAD1-r.delivery.jws', Buffer.from('new'), new Date(1_700_000_060_000));
    expect(await outcomes({ existing: 'renew' })).toEqual([['EGAD1-r.delivery.jws', 'downloaded', undefined]]);
    expect(await world.read('EGAD1-r.delivery.jws')).toEqual(Buffer.from('new'));
    expect(await outcomes({ existing: 'renew' })).toEqual([['EGAD1-r.delivery.jws', 'skipped', undefined]]);
  });
});

test('a receipt is kept as it is when files are decrypted', async () => {
  world.server.put('EGAD1-r.delivery.jws', Buffer.from('receipt'));
  const decrypt = { privateKeys: [privateKey] };
  expect(await outcomes({ decrypt })).toEqual([['EGAD1-r.delivery.jws', 'downloaded', undefined]]);
  expect(await world.read('EGAD1-r.delivery.jws')).toEqual(Buffer.from('receipt'));
});
