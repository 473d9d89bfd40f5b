import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decrypt,
  decryptedSize,
  decryptSegments,
  encrypt,
  encryptedBodySize,
  encryptHeader,
  encryptSegments,
  generateKeyPair,
  headerLength,
  openHeader,
  reencryptHeader,
} from '../../lib/crypt4gh/index.ts';
import { collect, generatedPlaintext, inChunks } from '../helpers/crypt4gh-vectors.ts';
import { applyPlainly, editLists } from '../helpers/edit-lists.ts';

const reader = generateKeyPair();
const source = generatedPlaintext('property', 300_000);
const slow = process.env.SLOW === '1';
const numRuns = slow ? 1_000 : 25;

const sizes = fc.integer({ min: 0, max: source.length });
/** Sizes where arithmetic goes wrong: none of them is left to chance. */
const borderSizes = [0, 1, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073];
const chunkSizes = fc.oneof(
  fc.constantFrom(65_535, 65_536, 65_537, 65_563, 65_564, 65_565, Number.POSITIVE_INFINITY),
  fc.integer({ min: 500, max: 200_000 }),
);

/** Each of them in one piece, and in pieces that end beside segments. */
const borderCases = borderSizes.flatMap((size): [number, number, number][] => [
  [size, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  [size, 65_535, 65_565],
]);

test('round trips have any size in any chunking, and the sizes are what arithmetic says', async () => {
  await fc.assert(
    fc.asyncProperty(sizes, chunkSizes, chunkSizes, async (size, writeChunk, readChunk) => {
      const plaintext = source.subarray(0, size);
      const container = await collect(encrypt(inChunks(plaintext, writeChunk), { recipients: [reader.publicKey] }));
      const bodySize = container.length - headerLength(container)!;
      expect(bodySize).toBe(encryptedBodySize(size));
      expect(decryptedSize(bodySize)).toBe(size);
      const decrypted = await collect(decrypt(inChunks(container, readChunk), { privateKeys: [reader.privateKey] }));
      expect(decrypted.equals(plaintext)).toBe(true);
    }),
    { numRuns: numRuns + borderCases.length, examples: borderCases },
  );
});

describe('edit lists', () => {
  const dataKey = new Uint8Array(32).fill(9);
  test('leave the bytes that a plain array leaves', async () => {
    const body = await collect(encryptSegments([source], { dataKey }));
    await fc.assert(
      fc.asyncProperty(editLists, chunkSizes, async (editList, chunk) => {
        const bytes = await collect(decryptSegments(inChunks(body, chunk), { dataKeys: [dataKey], editList }));
        expect(bytes.equals(applyPlainly(source, editList))).toBe(true);
      }),
      { numRuns: 4 * numRuns },
    );
  });

  test('come through a header, and through its rebuilding, as they were', () => {
    const recipient = generateKeyPair();
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { maxLength: 50 }), (editList) => {
        const header = encryptHeader({ dataKeys: [dataKey], editList, recipients: [reader.publicKey] });
        expect(openHeader(header, [reader.privateKey]).editList).toEqual(editList);
        const rebuilt = reencryptHeader({
          header,
          readerKeys: [reader.privateKey],
          recipients: [recipient.publicKey],
          derivation: { secret: reader.privateKey, context: 'file' },
        });
        expect(openHeader(rebuilt, [recipient.privateKey])).toMatchObject({ editList, dataKeys: [dataKey] });
      }),
      { numRuns },
    );
  });
});
