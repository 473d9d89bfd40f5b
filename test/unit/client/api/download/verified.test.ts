import { randomBytes } from 'node:crypto';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Claims } from '../../../../../lib/client/api/delivery/claims.ts';
import type { DownloadFilesOptions } from '../../../../../lib/client/api/download/download-files.ts';
import { ClientError } from '../../../../../lib/client/api/errors.ts';
import type { DeliveredFile } from '../../../../../lib/contract/delivery.ts';
import { encrypt, encryptHeader, generateKeyPair, openHeader } from '../../../../../lib/crypt4gh/index.ts';
import { containerOf } from '../../../../helpers/client-world.ts';
import { all, DownloadWorld } from '../../../../helpers/download-world.ts';
import { deliveredFile, receiptOf } from '../../../../helpers/receipts.ts';

const { privateKey, publicKey } = generateKeyPair();
const smallPlain = randomBytes(3000);
const small = await containerOf(smallPlain, publicKey);
const largePlain = randomBytes(6 * 2 ** 20 + 1);
/** Four pieces. */
const large = await containerOf(largePlain, publicKey);
const [smallName, largeName] = ['EGAF1-small.c4gh', 'EGAF2-large.c4gh'];
const smallListed = await deliveredFile(smallName, small, { plaintext: smallPlain });
const largeListed = await deliveredFile(largeName, large, { plaintext: largePlain });
const decrypt = { privateKeys: [privateKey] };
/** Of nine bytes: "123456789", the check value of CRC-64/NVME. */
const wrongCrc = 'rosUhgp5mIg=';
const mediumPlain = randomBytes(300_000);
/** Five segments. */
const medium = await containerOf(mediumPlain, publicKey);
const mediumListed = await deliveredFile(largeName, medium, { plaintext: mediumPlain });
/** The container of `mediumPlain` as someone with write access to storage can change it: every segment authenticates. */
const header = medium.subarray(0, 124);
const segment = (index: number) => medium.subarray(124 + index * 65_564, 124 + (index + 1) * 65_564);
const tampered = {
  swapped: Buffer.concat([header, segment(1), segment(0), medium.subarray(124 + 2 * 65_564)]),
  doubled: Buffer.concat([header, segment(0), segment(0), medium.subarray(124 + 2 * 65_564)]),
  cut: medium.subarray(0, 124 + 3 * 65_564),
  exchanged: Buffer.from(small),
  'exchanged, with an edit list': Buffer.concat(
    await all(encrypt([smallPlain], { recipients: [publicKey], editList: [0n] })),
  ),
};
const listings = {
  'by its plaintext': mediumListed,
  'by the bytes of the container': withoutDigest(mediumListed),
  'by its header and size': withoutCrc(withoutDigest(mediumListed)),
};

let world: DownloadWorld;
beforeAll(async () => {
  world = await DownloadWorld.start();
});
afterEach(() => world.clear());
afterAll(() => world?.stop());

function expecting(files: readonly DeliveredFile[], form: 'container' | 'plaintext' = 'container') {
  const claims = new Claims([receiptOf(files)]);
  return { expected: ({ name }: { readonly name: string }) => claims.expected(name, form) };
}

function withoutDigest({ plaintext_sha256: _, ...file }: DeliveredFile): DeliveredFile {
  return file;
}

function withoutCrc({ crc64nvme: _, ...file }: DeliveredFile): DeliveredFile {
  return file;
}

/** What anyone who can write the object makes of it: a packet more, for the same reader. */
function withEditList(container: Buffer, editList: readonly bigint[]): Buffer {
  const { dataKeys } = openHeader(container, [privateKey]);
  return Buffer.concat([encryptHeader({ dataKeys, editList, recipients: [publicKey] }), container.subarray(124)]);
}

async function outcomes(options: Partial<DownloadFilesOptions>) {
  const { files } = await world.download(options);
  return files.map(({ name, outcome, verified, error }) => [name, outcome, verified ?? error?.code]);
}

/** A run whose connections all break. @returns the code of its error */
async function broken(options: Partial<DownloadFilesOptions>): Promise<string | undefined> {
  world.faults.break({ on: 'storage', fault: { kind: 'cut', bytes: 1_250_000 }, times: 100 });
  const { error } = await world.download({ ...options, retries: { attempts: 1, firstMs: 1, longestMs: 1 } });
  return error?.code;
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

  /** The receipt is read once so many bytes are here. */
  function readAfter(bytes: number, listed: ReturnType<typeof expecting>): Partial<DownloadFilesOptions> {
    let give = () => {};
    const read = new Promise<void>((resolve) => {
      give = resolve;
    });
    let here = 0;
    return {
      expected: (file) => read.then(() => listed.expected(file)),
      onEvent(event) {
        world.events.push(event);
        if (event.type === 'progress') here += event.bytes;
        if (here >= bytes) give();
      },
    };
  }

  test.each([
    ['container', 'bytes', {}],
    ['plaintext', 'plaintext', { decrypt }],
  ] as const)('that is read meanwhile: nothing of the %s waits but the last step', async (form, how, options) => {
    world.server.put(smallName, small);
    world.server.put(largeName, large);
    const bodies = small.length + large.length - 2 * 124;
    const found = await outcomes({ ...options, ...readAfter(bodies, expecting([smallListed, largeListed], form)) });
    expect(found).toEqual([
      [smallName, 'downloaded', how],
      [largeName, 'downloaded', how],
    ]);
    // The first bytes are also read for the header.
    expect(world.storageBytes).toBeLessThan(small.length + large.length + 65_536);
  });

  test('that is read meanwhile and has no digest of the plaintext: such a file comes once more', async () => {
    const options = (file: DeliveredFile) => ({
      decrypt,
      ...readAfter(medium.length - 124 - 65_564, expecting([file], 'plaintext')),
    });
    world.server.put(largeName, medium);
    expect(await outcomes(options(withoutDigest(mediumListed)))).toEqual([[largeName, 'downloaded', 'bytes']]);
    expect(world.storageBytes).toBe(2 * medium.length);
    expect(world.events.map(({ type }) => type)).not.toContain('restarted');
    expect((await world.read('EGAF2-large')).equals(mediumPlain)).toBe(true);
    await world.clear();
    world.server.put(largeName, tampered.swapped);
    const refused = [[largeName, 'failed', 'not_verified']];
    expect(await outcomes(options(withoutDigest(mediumListed)))).toEqual(refused);
    expect(await outcomes(options(mediumListed))).toEqual(refused);
    expect(await world.names()).toEqual([]);
  });

  test('that cannot be read: the file is not kept', async () => {
    world.server.put(smallName, small);
    const expected = () => Promise.reject(new ClientError('unavailable', 'no receipts'));
    expect(await outcomes({ expected })).toEqual([[smallName, 'failed', 'unavailable']]);
    expect(await world.names()).toEqual([]);
  });

  test('after interruptions, with the bytes of the run before', async () => {
    world.server.put(largeName, large);
    expect(await broken(expecting([largeListed]))).toBe('unavailable');
    expect(await world.names()).toContain(`${largeName}.part`);
    world.faults.reset();
    expect(await outcomes(expecting([largeListed]))).toEqual([[largeName, 'downloaded', 'bytes']]);
    expect(world.storageBytes).toBeLessThan(large.length);
    expect((await world.read(largeName)).equals(large)).toBe(true);
  });

  test('by its plaintext when it is decrypted', async () => {
    world.server.put(smallName, small);
    world.server.put(largeName, large);
    expect(await outcomes({ ...expecting([smallListed, largeListed], 'plaintext'), decrypt })).toEqual([
      [smallName, 'downloaded', 'plaintext'],
      [largeName, 'downloaded', 'plaintext'],
    ]);
    expect((await world.read('EGAF2-large')).equals(largePlain)).toBe(true);
  });

  test('by its plaintext before the edit list', async () => {
    const editList = [10n, 100n, 2_000_000n, 70_000n, 1_000_000n];
    const edited = Buffer.concat(await all(encrypt([largePlain], { recipients: [publicKey], editList })));
    world.server.put(largeName, edited);
    const listed = await deliveredFile(largeName, edited, {
      plaintext: largePlain,
      headerBytes: edited.length - large.length + 124,
    });
    const options = { ...expecting([listed], 'plaintext'), decrypt };
    expect(await broken(options)).toBe('unavailable');
    world.faults.reset();
    expect(await outcomes(options)).toEqual([[largeName, 'downloaded', 'plaintext']]);
    const kept = [
      largePlain.subarray(10, 110),
      largePlain.subarray(2_000_110, 2_070_110),
      largePlain.subarray(3_070_110),
    ];
    expect((await world.read('EGAF2-large')).equals(Buffer.concat(kept))).toBe(true);
    expect(await world.names()).toEqual(['EGAF2-large']);
  });

  test('by the bytes of the container when it is decrypted, where the receipt has no digest of the plaintext', async () => {
    world.server.put(smallName, small);
    world.server.put(largeName, large);
    const bare = [smallListed, largeListed].map(withoutDigest);
    // Its ciphertext is not kept, so the file begins again.
    await broken({ ...expecting(bare, 'plaintext'), decrypt });
    world.faults.reset();
    expect(await outcomes({ ...expecting(bare, 'plaintext'), decrypt })).toEqual([
      [smallName, expect.any(String), undefined],
      [largeName, 'downloaded', 'bytes'],
    ]);
    expect((await world.read('EGAF2-large')).equals(largePlain)).toBe(true);
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

  test.each(
    Object.entries(tampered).flatMap(([how, bytes]) =>
      Object.entries(listings)
        .filter(([by]) => by !== 'by its header and size' || !['swapped', 'doubled'].includes(how))
        .map(([by, listed]) => ({ how, by, bytes, listed })),
    ),
  )('is found $by when it is decrypted: $how', async ({ bytes, listed }) => {
    // Newer than the receipt, as everything is that is changed after it.
    world.server.put(largeName, bytes, new Date('2026-12-01T00:00:00Z'));
    const { error } = await world.download({ ...expecting([listed], 'plaintext'), decrypt });
    expect(error).toMatchObject({ code: 'not_verified', remedy: expect.stringMatching(/export.*under way.*again/) });
    expect(await world.names()).toEqual([]);
  });

  test('is found when only an edit list was added to its header', async () => {
    const [name, plainName] = [largeName, 'EGAF2-large'];
    world.server.put(name, withEditList(medium, [0n, 100n]));
    const options = { ...expecting([mediumListed], 'plaintext'), decrypt };
    expect(await outcomes(options)).toEqual([[name, 'failed', 'not_verified']]);
    expect(await world.names()).toEqual([]);
    // What an earlier version of the client has kept is not called the same as the staged file, either.
    await writeFile(join(world.folder, plainName), mediumPlain.subarray(0, 100));
    await utimes(join(world.folder, plainName), 1, 1);
    expect(await outcomes(options)).toEqual([[name, 'failed', 'not_verified']]);
  });

  test('only in a header without an edit list is kept: its plaintext is the submitted one', async () => {
    world.server.put(largeName, await containerOf(mediumPlain, publicKey));
    expect(await outcomes({ ...expecting([mediumListed], 'plaintext'), decrypt })).toEqual([
      [largeName, 'downloaded', 'plaintext'],
    ]);
  });

  test('decides the code of the whole download, also when others are whole or fail otherwise', async () => {
    world.server.put(smallName, small);
    world.server.put(largeName, large);
    world.server.put('EGAF3-other.c4gh', small.subarray(0, 1000));
    const files = [smallListed, { ...largeListed, plaintext_sha256: 'ab'.repeat(32) }];
    const { error } = await world.download({ ...expecting(files, 'plaintext'), decrypt });
    expect(error).toMatchObject({ code: 'not_verified', message: expect.stringMatching(/^2 of 3 .*EGAF2-large/) });
    expect(await world.names()).not.toContain('EGAF2-large');
    expect(await world.names()).toContain('EGAF1-small');
  });
});

describe('a file that already exists', () => {
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
