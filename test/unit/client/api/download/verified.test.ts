import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { DownloadFilesOptions } from '../../../../../lib/client/api/download/download-files.ts';
import { Claims } from '../../../../../lib/client/api/receipts/claims.ts';
import type { DeliveredFile } from '../../../../../lib/contract/delivery.ts';
import { generateKeyPair } from '../../../../../lib/crypt4gh/index.ts';
import { containerOf } from '../../../../helpers/client-world.ts';
import { DownloadWorld } from '../../../../helpers/download-world.ts';
import { deliveredFile, receiptOf } from '../../../../helpers/receipts.ts';

const { publicKey } = generateKeyPair();
const smallPlain = randomBytes(3000);
const small = await containerOf(smallPlain, publicKey);
const largePlain = randomBytes(16 * 2 ** 20 + 1);
/** Three pieces. */
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

function expecting(files: readonly DeliveredFile[]) {
  const claims = new Claims([receiptOf(files)]);
  return { expected: ({ name }: { readonly name: string }) => claims.of(name) };
}

function withoutCrc({ crc64nvme: _, ...file }: DeliveredFile): DeliveredFile {
  return file;
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
    [smallName, { ...withoutCrc(smallListed), header_sha256: 'ab'.repeat(32) }],
    [smallName, { ...withoutCrc(smallListed), size: small.length + 1 }],
  ])('is refused, and nothing of it is kept: %s', async (name, listed) => {
    world.server.put(name, name === smallName ? small : large);
    expect(await outcomes(expecting([listed]))).toEqual([[name, 'failed', 'not_verified']]);
    expect(await world.names()).toEqual([]);
  });

  test('is named with the receipt, and with what to do while an export is under way', async () => {
    world.server.put(smallName, small);
    const { error } = await world.download(expecting([{ ...smallListed, crc64nvme: wrongCrc }]));
    expect(error).toMatchObject({ code: 'not_verified', remedy: expect.stringMatching(/export.*under way.*again/) });
  });

  test('decides the code of the whole download, also when others are whole or fail otherwise', async () => {
    world.server.put(smallName, small);
    world.server.put(largeName, large);
    world.server.put('EGAF3-other.c4gh', small);
    await writeFile(join(world.folder, 'EGAF3-other.c4gh'), 'other content');
    const files = [smallListed, { ...largeListed, crc64nvme: wrongCrc }];
    const { error } = await world.download(expecting(files));
    expect(error).toMatchObject({ code: 'not_verified', message: expect.stringMatching(/^2 of 3 .*EGAF2-large/) });
    expect(await world.names()).toEqual([smallName, 'EGAF3-other.c4gh']);
  });
});

describe('a file that already exists', () => {
  const listed = () => expecting([smallListed]);
  const existing = (bytes: Uint8Array) => writeFile(join(world.folder, smallName), bytes);
  const damaged = Buffer.from(small).fill(0, 500, 501);

  test.each([false, true])('and matches its receipt is kept, whatever its time, with --force: %s', async (force) => {
    world.server.put(smallName, small);
    await existing(small);
    expect(await outcomes({ ...listed(), force })).toEqual([[smallName, 'skipped', 'bytes']]);
    expect(world.storageBytes).toBe(0);
  });

  test('and differs in one byte is not touched, unless it is to be replaced', async () => {
    world.server.put(smallName, small);
    await world.download();
    const { mtime } = await stat(join(world.folder, smallName));
    await existing(damaged);
    await utimes(join(world.folder, smallName), mtime, mtime);
    expect(await outcomes(listed())).toEqual([[smallName, 'failed', 'local_disk']]);
    expect((await world.read(smallName)).equals(damaged)).toBe(true);
    expect(await outcomes({ ...listed(), force: true })).toEqual([[smallName, 'downloaded', 'bytes']]);
    expect((await world.read(smallName)).equals(small)).toBe(true);
  });

  test('is kept, and not verified, by size and header if the receipt has no checksum', async () => {
    world.server.put(smallName, small);
    await existing(small);
    const bare = expecting([withoutCrc(smallListed)]);
    expect(await outcomes(bare)).toEqual([[smallName, 'skipped', undefined]]);
    expect(await outcomes({ ...bare, force: true })).toEqual([[smallName, 'downloaded', undefined]]);
    await existing(Buffer.from(small).fill(0, 0, 100));
    expect(await outcomes(bare)).toEqual([[smallName, 'failed', 'local_disk']]);
  });

  test('does not follow a link, and waits for no pipe', async () => {
    for (const name of ['EGAF4-link.c4gh', 'EGAF5-pipe.c4gh']) world.server.put(name, small);
    await writeFile(join(world.folder, 'elsewhere'), small);
    await symlink('elsewhere', join(world.folder, 'EGAF4-link.c4gh'));
    execFileSync('mkfifo', [join(world.folder, 'EGAF5-pipe.c4gh')]);
    const named = ['EGAF4-link.c4gh', 'EGAF5-pipe.c4gh'].map((name) => ({ ...smallListed, name }));
    expect((await outcomes(expecting(named))).map(([, outcome]) => outcome)).toEqual(['failed', 'failed']);
  });
});
