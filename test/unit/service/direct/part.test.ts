import { describe, expect, test } from 'vitest';
import type { ByteRange } from '../../../../lib/crypt4gh/index.ts';
import { containerPart, isForAssembly } from '../../../../lib/service/direct/container.ts';
import { collect, generatedPlaintext } from '../../../helpers/crypt4gh-vectors.ts';
import { ExportWorld, vector, vectorKey } from '../../../helpers/export-world.ts';
import { readPlainly } from '../../../helpers/plain-crypt4gh.ts';

const [bob, carol] = [vectorKey('bob'), vectorKey('carol')];
/** Of `edit/body.bin`: four segments, the last one of 3,392 bytes. */
const plaintext = generatedPlaintext('vectors/edit-body', 200_000);

/** A world with the body of the vectors' edit lists under one of their headers. */
function worldWith(header = 'edit/plain.header.bin') {
  const world = new ExportWorld();
  world.addFile('EGAF1', vector('edit/body.bin'), 'run 7/sample.bam.c4gh');
  const found = world.catalogue.files.get('EGAF1');
  if (!found) throw new Error('no file');
  const file = { ...found, datasetId: 'EGAD1', header: vector(header) };
  const part = (coordinates: ByteRange, recipient = bob) =>
    containerPart(file, recipient.publicKey, coordinates, world.direct);
  return { world, file, part };
}

describe('a part of a file', () => {
  // Sizes by the standard: header 16 + 108, 76 + 8 for each length of an edit list; segments of 65,564, the last of 3,420.
  test.each([
    { start: 0, end: 65_536, size: 124 + 65_564, segments: [0, 1] },
    { start: 65_535, end: 65_537, size: 124 + 92 + 2 * 65_564, segments: [0, 2] },
    { start: 65_536, end: 131_072, size: 124 + 65_564, segments: [1, 2] },
    { start: 199_999, end: 9_007_199_254_740_991, size: 124 + 92 + 3_420, segments: [3, 4] },
    { start: 70_000, end: 70_000, size: 124, segments: [0, 0] },
  ])(
    '$start to $end: just the segments they lie in, and exactly these bytes',
    async ({ start, end, size, segments }) => {
      const { world, part } = worldWith();
      const made = await part({ start, end });
      expect(made.size).toBe(size);
      const bytes = await collect(made.stream(0, made.size));
      expect(bytes.length).toBe(size);
      expect(readPlainly(bytes, bob.privateKey).equals(plaintext.subarray(start, end))).toBe(true);
      const [first = 0, last = 0] = segments;
      const stored = vector('edit/body.bin').subarray(first * 65_564, last * 65_564);
      expect(bytes.subarray(bytes.length - stored.length).equals(stored)).toBe(true);
      expect(world.archive.bytesRead).toBe(stored.length);
    },
  );

  test('is the same on every call; of other coordinates or another key it is another', async () => {
    const { part } = worldWith();
    const made = await part({ start: 10, end: 20 });
    const again = await part({ start: 10, end: 20 });
    expect(again.etag).toBe(made.etag);
    expect((await collect(again.stream(0, made.size))).equals(await collect(made.stream(0, made.size)))).toBe(true);
    const others = [await part({ start: 10, end: 21 }), await part({ start: 10, end: 20 }, carol)];
    expect(new Set([made, ...others].map(({ etag }) => etag)).size).toBe(3);
    // Two headers of one sender key for one reader: never under one nonce.
    const nonces = [made, ...others.slice(0, 1)].map(({ header }) =>
      Buffer.from(header.subarray(56, 68)).toString('hex'),
    );
    expect(new Set(nonces).size).toBe(2);
  });
});

describe('under a stored edit list', () => {
  test('segments from several places are left out in between', async () => {
    const { part } = worldWith('edit/pos-26-el-odd-three.header.bin');
    const made = await part({ start: 0, end: 20 });
    // Segments 0 and 2; the edit list: skip, keep, skip, keep.
    expect(made.size).toBe(124 + 76 + 4 * 8 + 2 * 65_564);
    expect(made.ranges).toEqual([
      { start: 0, end: 65_564 },
      { start: 131_128, end: 196_692 },
    ]);
    expect(isForAssembly(made)).toBe(false);
  });

  test('that keeps nothing, no coordinates can be served', async () => {
    const { part } = worldWith('edit/pos-30-el-skip-beyond.header.bin');
    await expect(part({ start: 0, end: 1 })).rejects.toMatchObject({ size: 0 });
  });
});

test('a body of an impossible size is damage', async () => {
  const { world, file } = worldWith();
  world.archive.set('bodies/EGAF1', vector('edit/body.bin').subarray(0, 65_564 + 20));
  const cut = { ...file, archiveFileSize: 65_564 + 20 };
  const part = containerPart(cut, bob.publicKey, { start: 0, end: 1 }, world.direct);
  await expect(part).rejects.toMatchObject({ code: 'archive_damaged' });
});
