import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PlainFile } from '../../../../lib/client/serve/plain-file.ts';
import { Recent } from '../../../../lib/common/recent.ts';
import { encryptHeader, generateKeyPair, openContainer, openHeader } from '../../../../lib/crypt4gh/index.ts';
import { containerOf } from '../../../helpers/client-world.ts';
import { generatedPlaintext } from '../../../helpers/crypt4gh-vectors.ts';
import { bytesSource } from '../../../helpers/recording-source.ts';

const keys = generateKeyPair();
const segment = 65_536;
const encryptedSegment = 65_564;
const plaintext = generatedPlaintext('serve', 40 * segment + 1_234);

/** A file whose reads of the body are counted, in segments. */
async function opened({ most = 512, editList }: { most?: number; editList?: readonly bigint[] } = {}) {
  const container = await containerOf(plaintext, keys.publicKey);
  const source = bytesSource(container);
  const reads: number[] = [];
  const counting = {
    size: container.length,
    async read(offset: number, length: number) {
      if (offset >= 124) reads.push(Math.ceil(length / encryptedSegment));
      return Buffer.from(await source.read(offset, length));
    },
  };
  const header = editList && edited(container, editList);
  const reader = header
    ? await openContainer(bytesSource(container.subarray(124)), { header, privateKeys: [keys.privateKey] })
    : await openContainer(counting, { privateKeys: [keys.privateKey], segmentsPerFetch: 64 });
  reads.length = 0;
  const file = new PlainFile(
    reader,
    { etag: '"v1"', lastModified: 'Wed, 01 Jan 2025 12:00:00 GMT' },
    new Recent({ most }),
  );
  return { file, reads };
}

/** The header of a container with an edit list. */
function edited(container: Buffer, editList: readonly bigint[]): Buffer {
  const { dataKeys } = openHeader(container, [keys.privateKey]);
  return Buffer.from(encryptHeader({ dataKeys, editList, recipients: [keys.publicKey] }));
}

async function read(file: PlainFile, start: number, end: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of file.stream(start, end)) pieces.push(piece);
  return Buffer.concat(pieces);
}

test('gives exactly the bytes of any range, whatever is kept', async () => {
  const { file } = await opened({ most: 3 });
  const position = fc.integer({ min: 0, max: plaintext.length });
  await fc.assert(
    fc.asyncProperty(position, position, async (one, other) => {
      const [start, end] = one < other ? [one, other] : [other, one];
      return (await read(file, start, end)).equals(plaintext.subarray(start, end));
    }),
    { numRuns: 60 },
  );
});

test('begins with two segments, and takes twice as many with each read', async () => {
  const { file, reads } = await opened();
  expect((await read(file, 10, plaintext.length)).equals(plaintext.subarray(10))).toBe(true);
  expect(reads).toEqual([2, 4, 8, 16, 11]);
});

test('costs a tool that gives up after its first bytes two segments', async () => {
  const { file, reads } = await opened();
  for await (const piece of file.stream(5 * segment, plaintext.length)) {
    expect(piece.length).toBe(2 * segment);
    break;
  }
  expect(reads).toEqual([2]);
});

test('reads what is kept once, also for readers at the same time', async () => {
  const { file, reads } = await opened();
  const [one, other] = await Promise.all([read(file, 100, 200), read(file, 150, 65_600)]);
  expect(one.equals(plaintext.subarray(100, 200)) && other.equals(plaintext.subarray(150, 65_600))).toBe(true);
  await read(file, 65_000, 66_000);
  expect(reads).toEqual([1, 1]);
});

test('keeps no more than its share', async () => {
  const { file, reads } = await opened({ most: 2 });
  for (const at of [0, 10, 20, 0]) await read(file, at * segment, at * segment + 1);
  expect(reads).toEqual([1, 1, 1, 1]);
});

test('shows the plaintext after an edit list', async () => {
  const { file } = await opened({ editList: [100n, 1_000n, 70_000n, 200_000n] });
  const kept = Buffer.concat([plaintext.subarray(100, 1_100), plaintext.subarray(71_100, 271_100)]);
  expect(file.size).toBe(201_000);
  expect((await read(file, 0, 201_000)).equals(kept)).toBe(true);
  expect((await read(file, 990, 140_000)).equals(kept.subarray(990, 140_000))).toBe(true);
});
