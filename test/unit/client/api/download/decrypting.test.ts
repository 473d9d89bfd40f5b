import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { DamagedFileError } from '../../../../../lib/client/api/errors.ts';
import {
  ENCRYPTED_SEGMENT_BYTES,
  encrypt,
  generateKeyPair,
  headerLength,
  SEGMENT_BYTES,
  SegmentWorkers,
} from '../../../../../lib/crypt4gh/index.ts';
import { DownloadWorld } from '../../../../helpers/download-world.ts';

const mebibyte = 1024 * 1024;
const reader = generateKeyPair();
const decrypt = { privateKeys: [generateKeyPair().privateKey, reader.privateKey] };

let world: DownloadWorld;
beforeAll(async () => {
  world = await DownloadWorld.start();
});
afterEach(() => world.clear());
afterAll(() => world?.stop());

async function* once(bytes: Uint8Array) {
  yield bytes;
}

async function container(plaintext: Uint8Array, editList?: readonly bigint[]): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const options = { recipients: [reader.publicKey], ...(editList && { editList }) };
  for await (const piece of encrypt(once(plaintext), options)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Offset of a byte in the middle of a segment. */
const inside = (bytes: Buffer, segment: number) =>
  (headerLength(bytes) ?? 0) + segment * ENCRYPTED_SEGMENT_BYTES + ENCRYPTED_SEGMENT_BYTES / 2;

const large = randomBytes(5 * mebibyte + 5);
let largeContainer: Buffer;
beforeAll(async () => {
  largeContainer = await container(large);
});

describe('decrypting while downloading', () => {
  test.each([0, 1, SEGMENT_BYTES - 1, SEGMENT_BYTES, SEGMENT_BYTES + 1, 3 * SEGMENT_BYTES, 30 * SEGMENT_BYTES + 7])(
    'gives the plaintext of %d bytes with two requests, for its owner only',
    async (size) => {
      const plaintext = randomBytes(size);
      world.server.put('a.bam.c4gh', await container(plaintext));
      expect((await world.download({ decrypt })).error).toBeUndefined();
      expect((await world.read('a.bam')).equals(plaintext)).toBe(true);
      expect(await world.names()).toEqual(['a.bam']);
      expect((await stat(join(world.folder, 'a.bam'))).mode & 0o777).toBe(0o600);
      expect(world.server.count(/stream|bucket/)).toBe(2);
    },
  );

  test.each([1, 4])('gives a large plaintext over %d connections', async (connections) => {
    world.server.put('a.c4gh', largeContainer);
    expect((await world.download({ decrypt, connections })).error).toBeUndefined();
    expect((await world.read('a')).equals(large)).toBe(true);
  });

  test('uses threads when it is given some', async () => {
    await using cipher = new SegmentWorkers({ threads: 2 });
    world.server.put('a.c4gh', largeContainer);
    expect((await world.download({ decrypt: { ...decrypt, cipher } })).error).toBeUndefined();
    expect((await world.read('a')).equals(large)).toBe(true);
  });

  test('keeps what an edit list leaves', async () => {
    const editList = [100_000n, 5n, 3_000_000n, 1_000_000n, 3n, 70_000n];
    world.server.put('a.c4gh', await container(large, editList));
    expect((await world.download({ decrypt })).error).toBeUndefined();
    const expected = Buffer.concat([
      large.subarray(100_000, 100_005),
      large.subarray(3_100_005, 4_100_005),
      large.subarray(4_100_008, 4_170_008),
    ]);
    expect((await world.read('a')).equals(expected)).toBe(true);
  });

  test('resumes after cuts and stops where it was', async () => {
    world.server.put('a.c4gh', largeContainer);
    world.faults.break({ on: 'storage', fault: { kind: 'cut', bytes: 500_001 }, times: 3, skip: 1 });
    const stop = new AbortController();
    let kept = 0;
    const stopped = await world.download({
      decrypt,
      signal: stop.signal,
      onEvent: (event) => {
        if (event.type === 'progress') kept += event.bytes;
        if (kept > 2 * mebibyte) stop.abort();
      },
    });
    expect(stopped.error).toMatchObject({ code: 'interrupted' });
    expect(await world.names()).toEqual(['a.part', 'a.part.json']);
    world.faults.reset();
    expect((await world.download({ decrypt })).error).toBeUndefined();
    expect((await world.read('a')).equals(large)).toBe(true);
    expect(world.storageBytes).toBeLessThan(largeContainer.length - mebibyte);
    expect(await world.names()).toEqual(['a']);
  });

  test('does not go on with a container, nor the other way round', async () => {
    world.server.put('a', largeContainer);
    for (const [first, second] of [
      [undefined, decrypt],
      [decrypt, undefined],
    ]) {
      const stop = new AbortController();
      const onEvent = ({ type }: { type: string }) => type === 'progress' && stop.abort();
      await world.download({ decrypt: first, signal: stop.signal, onEvent });
      expect((await world.download({ decrypt: second, existing: 'overwrite' })).error).toBeUndefined();
      expect((await world.read('a')).equals(second ? large : largeContainer)).toBe(true);
      await world.clear();
      world.server.put('a', largeContainer);
    }
  });
});

describe('damage', () => {
  test('on the way is mended: the segment is fetched again', async () => {
    world.server.put('a.c4gh', largeContainer);
    world.faults.break(
      { on: 'storage', fault: { kind: 'corrupt', at: inside(largeContainer, 17) }, times: 2 },
      { on: 'storage', fault: { kind: 'corrupt', at: inside(largeContainer, 50) }, times: 4 },
    );
    expect((await world.download({ decrypt })).error).toBeUndefined();
    expect((await world.read('a')).equals(large)).toBe(true);
    const again = world.events.flatMap((event) => (event.type === 'refetching' ? [event.segment] : []));
    expect(again.sort((one, other) => one - other)).toEqual([17, 50]);
  });

  test('that stays is named by its segments; all others are kept and not fetched again', async () => {
    const damaged = Buffer.from(largeContainer);
    const last = Math.floor(large.length / SEGMENT_BYTES);
    for (const segment of [3, 4, 70])
      damaged.writeUInt8(damaged.readUInt8(inside(damaged, segment)) ^ 1, inside(damaged, segment));
    damaged.writeUInt8(damaged.readUInt8(damaged.length - 1) ^ 1, damaged.length - 1);
    world.server.put('a.c4gh', damaged);
    for (const round of [1, 2]) {
      world.faults.reset();
      const { error } = await world.download({ decrypt });
      expect(error).toBeInstanceOf(DamagedFileError);
      expect(error).toMatchObject({
        code: 'damaged',
        message: expect.stringContaining(`a.c4gh: 4 segments (3, 4, 70, ${last}) do`),
      });
      expect(await world.names()).toEqual(['a.part', 'a.part.json']);
      if (round === 2) expect(world.storageBytes).toBeLessThan(mebibyte);
    }
    // The same bytes as before except the damage, under the same tag: a disk of the storage was repaired.
    world.server.mend('a.c4gh', largeContainer);
    world.faults.reset();
    expect((await world.download({ decrypt })).error).toBeUndefined();
    expect((await world.read('a')).equals(large)).toBe(true);
    expect(world.storageBytes).toBeLessThan(mebibyte);
  });

  test('of the header on the way is mended, too', async () => {
    world.server.put('a.c4gh', largeContainer);
    world.faults.break({ on: 'storage', fault: { kind: 'corrupt', at: 60 } });
    expect((await world.download({ decrypt })).error).toBeUndefined();
    expect((await world.read('a')).equals(large)).toBe(true);
  });

  test.each([
    ['no container', randomBytes(5_000)],
    ['the beginning of a header', Buffer.from('crypt4gh\u0001\0\0\0\u0001\0\0\0', 'latin1')],
    ['nothing at all', Buffer.alloc(0)],
  ])('what is %s is "damaged"', async (_what, content) => {
    world.server.put('a.c4gh', content);
    expect((await world.download({ decrypt })).error).toMatchObject({ code: 'damaged' });
    expect(await world.names()).toEqual([]);
  });

  test('a container that ends inside a nonce is "damaged"', async () => {
    const whole = await container(randomBytes(SEGMENT_BYTES + 9));
    world.server.put('a.c4gh', whole.subarray(0, whole.length - 20));
    expect((await world.download({ decrypt })).error).toMatchObject({ code: 'damaged' });
    expect(await world.names()).toEqual([]);
  });

  test('a key that does not open the file is not damage', async () => {
    world.server.put('a.c4gh', largeContainer);
    const { error } = await world.download({ decrypt: { privateKeys: [generateKeyPair().privateKey] } });
    expect(error).toMatchObject({ code: 'forbidden', remedy: expect.stringContaining('private key') });
    expect(await world.names()).toEqual([]);
  });
});
