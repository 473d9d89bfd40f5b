import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decrypt,
  editedSize,
  encryptHeader,
  encryptSegments,
  generateKeyPair,
  headerLength,
  openContainer,
} from '../../lib/crypt4gh/index.ts';
import { collect, generatedPlaintext } from '../helpers/crypt4gh-vectors.ts';
import { applyPlainly, editLists } from '../helpers/edit-lists.ts';
import { rearranged } from '../helpers/rearranged.ts';
import { recordingSource } from '../helpers/recording-source.ts';
import { runs } from '../helpers/runs.ts';

const encryptedSegmentBytes = 65_564;
const numRuns = runs(60);
const owner = generateKeyPair();
const reader = generateKeyPair();
const keys = [1, 2].map((value) => new Uint8Array(32).fill(value));
const plaintext = generatedPlaintext('ranges', 4 * 65_536 + 777);

/** Segments under two data keys in turn. */
const body = await (async () => {
  const [one, two] = await Promise.all(keys.map((dataKey) => collect(encryptSegments([plaintext], { dataKey }))));
  const segment = (index: number) =>
    (index % 2 === 0 ? one! : two!).subarray(index * encryptedSegmentBytes, (index + 1) * encryptedSegmentBytes);
  return Buffer.concat([0, 1, 2, 3, 4].map(segment));
})();

function containerWith(editList: readonly bigint[] | undefined): Buffer {
  return Buffer.concat([encryptHeader({ dataKeys: keys, editList, recipients: [owner.publicKey] }), body]);
}

const position = fc.oneof(
  fc.constantFrom(0, 1, 65_535, 65_536, 65_537, 131_072, plaintext.length - 1, plaintext.length, plaintext.length + 1),
  fc.integer({ min: 0, max: plaintext.length + 1_000 }),
);
const range = fc
  .tuple(position, position)
  .map(([one, two]) => ({ start: Math.min(one, two), end: Math.max(one, two) }));
const lists = fc.option(editLists, { nil: undefined });

/** Segments that hold kept bytes of a range, found by going over the plaintext byte by byte, as offsets in the body. */
function segmentsOf(visible: readonly number[]): number[] {
  return [...new Set(visible.map((place) => Math.floor(place / 65_536)))];
}

/** Position in the plaintext of each byte that an edit list keeps. */
function placesOf(editList: readonly bigint[] | undefined): number[] {
  const places: number[] = [];
  let kept = editList === undefined || editList.length === 0;
  let next = 0;
  let left = kept ? plaintext.length : Number(editList?.[0]);
  for (let place = 0; place < plaintext.length; place += 1) {
    while (left <= 0 && editList !== undefined) {
      next += 1;
      kept = !kept;
      const length = editList[next];
      if (length === undefined && !kept) return places;
      left = length === undefined ? Number.POSITIVE_INFINITY : Number(length);
    }
    if (kept) places.push(place);
    left -= 1;
  }
  return places;
}

test('random access gives the bytes that a plain array gives, from exactly the segments needed', async () => {
  await fc.assert(
    fc.asyncProperty(
      lists,
      fc.array(range, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 4 }),
      async (editList, ranges, segmentsPerFetch) => {
        const container = containerWith(editList);
        const expected = applyPlainly(plaintext, editList ?? []);
        const places = placesOf(editList);
        const { source, reads } = recordingSource(container);
        const options = { privateKeys: [owner.privateKey], segmentsPerFetch };
        const opened = await openContainer(source, options);
        expect(opened.size).toBe(expected.length);
        for (const { start, end } of ranges) {
          reads.length = 0;
          const bytes = await opened.read(start, end - start);
          expect(Buffer.compare(bytes, expected.subarray(start, end))).toBe(0);
          const bodyStart = container.length - body.length;
          const fetched = reads.flatMap(([offset, length]) => {
            expect((offset - bodyStart) % encryptedSegmentBytes).toBe(0);
            expect(length).toBeLessThanOrEqual(segmentsPerFetch * encryptedSegmentBytes);
            const first = (offset - bodyStart) / encryptedSegmentBytes;
            return Array.from({ length: Math.ceil(length / encryptedSegmentBytes) }, (_, index) => first + index);
          });
          expect(fetched).toEqual(segmentsOf(places.slice(start, end)));
        }
      },
    ),
    { numRuns },
  );
});

test('rearranging keeps the bytes that a plain array keeps, in no segment more than needed', async () => {
  await fc.assert(
    fc.asyncProperty(
      lists,
      fc.array(range, { maxLength: 5 }),
      fc.boolean(),
      async (editList, ranges, isOfUnknownSize) => {
        const container = containerWith(editList);
        const places = placesOf(editList);
        const wanted = places.filter((_, index) => ranges.some(({ start, end }) => index >= start && index < end));
        const keyPairs = { privateKeys: [owner.privateKey], recipients: [reader.publicKey] };
        const result = rearranged(container, { ...keyPairs, ranges, isOfUnknownSize });
        const size = segmentsOf(wanted).reduce(
          (sum, index) => sum + Math.min(encryptedSegmentBytes, body.length - index * encryptedSegmentBytes),
          0,
        );
        const copied = result.length - headerLength(result)!;
        // Where the end is not known, the last segment may come without need.
        if (isOfUnknownSize) expect([size, size + ((body.length - 1) % encryptedSegmentBytes) + 1]).toContain(copied);
        else expect(copied).toBe(size);
        const read = await collect(decrypt([result], { privateKeys: [reader.privateKey] }));
        expect(Buffer.compare(read, Buffer.from(wanted.map((place) => plaintext[place]!)))).toBe(0);
      },
    ),
    { numRuns },
  );
});

test('arithmetic of edited sizes agrees with a plain array', () => {
  fc.assert(
    fc.property(editLists, (editList) => {
      expect(editedSize(plaintext.length, editList)).toBe(applyPlainly(plaintext, editList).length);
    }),
    { numRuns: 4 * numRuns },
  );
});
