import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { encrypt, fileSource, generateKeyPair, openContainer } from '../../../../lib/crypt4gh/index.ts';
import { collect, generatedPlaintext } from '../../../helpers/crypt4gh-vectors.ts';
import { bytesSource, recordingSource } from '../../../helpers/recording-source.ts';

const encryptedSegmentBytes = 65_564;
const headerBytes = 124;
const { privateKey, publicKey } = generateKeyPair();
const privateKeys = [privateKey];
const plaintext = generatedPlaintext('reader', 5 * 65_536 + 1_000);
const container = await collect(encrypt([plaintext], { recipients: [publicKey] }));

async function readerOf(options: { knowsSize?: boolean } = {}) {
  const { source, reads } = recordingSource(container, options);
  const reader = await openContainer(source, { privateKeys });
  reads.length = 0;
  return { reader, reads };
}

describe('a source that gives less than it is asked for', () => {
  test.each([
    [50, false],
    [65_564, false],
    [100_000, false],
  ])('at most %i bytes a read, size known: %s, is read as any other', async (mostBytes, knowsSize) => {
    const { source } = recordingSource(container, { mostBytes, knowsSize });
    const reader = await openContainer(source, { privateKeys });
    expect(Buffer.from(await reader.read(65_000, 200_000)).equals(plaintext.subarray(65_000, 265_000))).toBe(true);
    const end = await reader.read(5 * 65_536, 10_000);
    expect(Buffer.from(end).equals(plaintext.subarray(5 * 65_536))).toBe(true);
  });

  test('and ends too early is truncated all the same', async () => {
    const cut = container.subarray(0, headerBytes + 2 * encryptedSegmentBytes + 70);
    const { source } = recordingSource(cut, { mostBytes: 65_000, knowsSize: false });
    const reader = await openContainer(source, { privateKeys, expectedSize: plaintext.length });
    await expect(reader.read(0, plaintext.length)).rejects.toMatchObject({ code: 'truncated-body', segment: 2 });
    const half = recordingSource(container.subarray(0, 100), { mostBytes: 30, knowsSize: false });
    await expect(openContainer(half.source, { privateKeys })).rejects.toMatchObject({ code: 'truncated-header' });
  });
});

describe('several ranges', () => {
  const bytesOf = (start: number, end?: number) => plaintext.subarray(start, end);
  const check = async (ranges: [number, (number | undefined)?][], options: Parameters<typeof readerOf>[0] = {}) => {
    const { reader, reads } = await readerOf(options);
    const results = await reader.readRanges(ranges.map(([start, end]) => ({ start, end })));
    results.forEach((result, index) => {
      expect(Buffer.from(result).equals(bytesOf(...ranges[index]!)), String(ranges[index])).toBe(true);
    });
    expect(results).toHaveLength(ranges.length);
    return reads;
  };

  test('in one segment take one fetch', async () => {
    expect(
      await check([
        [70_000, 70_010],
        [66_000, 66_001],
        [131_000, 131_072],
      ]),
    ).toEqual([[headerBytes + encryptedSegmentBytes, encryptedSegmentBytes]]);
  });

  test('in neighbouring segments are fetched in one go, others apart, each segment once', async () => {
    const reads = await check([
      [4 * 65_536 + 5, 4 * 65_536 + 9],
      [10, 20],
      [65_540, 65_550],
      [15, 65_545],
      [0, 1],
    ]);
    expect(reads).toEqual([
      [headerBytes, 2 * encryptedSegmentBytes],
      [headerBytes + 4 * encryptedSegmentBytes, encryptedSegmentBytes],
    ]);
  });

  test.each([true, false])('may be empty, beyond the end and open; size known: %s', async (knowsSize) => {
    await check(
      [
        [5, 5],
        [5 * 65_536, undefined],
        [2_000_000, 3_000_000],
        [5 * 65_536 + 900, 5 * 65_536 + 5_000],
      ],
      { knowsSize },
    );
    expect(await check([], { knowsSize })).toEqual([]);
    expect(await check([[7, 7]], { knowsSize })).toEqual([]);
  });
});

test('what is fetched to open a container is its beginning, once for a header of usual size', async () => {
  const { source, reads } = recordingSource(container);
  await openContainer(source, { privateKeys });
  expect(reads).toEqual([[0, 4_096]]);
});

describe('reading ahead', () => {
  /** A source whose reads end when the test says so, each with what it was asked for. */
  function heldSource() {
    const reads: { readonly offset: number; readonly end: () => void; readonly fail: () => void }[] = [];
    const source = {
      size: container.length,
      read: (offset: number, length: number) =>
        new Promise<Uint8Array>((resolve, reject) => {
          const end = () => resolve(container.subarray(offset, offset + length));
          reads.push({ offset, end, fail: () => reject(new Error('connection reset')) });
        }),
    };
    return { source, reads };
  }

  async function heldReader(fetchesInFlight: number) {
    const { source, reads } = heldSource();
    const opened = openContainer(source, { privateKeys, segmentsPerFetch: 1, fetchesInFlight });
    reads[0]!.end();
    const reader = await opened;
    reads.length = 0;
    return { reader, reads };
  }

  test('begins as many fetches as are allowed, and gives out the first before the second has ended', async () => {
    const { reader, reads } = await heldReader(3);
    const pieces = reader.stream();
    const first = pieces.next();
    expect(reads.map(({ offset }) => offset)).toEqual(
      [0, 1, 2].map((segment) => headerBytes + segment * encryptedSegmentBytes),
    );
    reads[0]!.end();
    expect((await first).value).toEqual(plaintext.subarray(0, 65_536));
    expect(reads).toHaveLength(3);
    const second = pieces.next();
    reads[2]!.end();
    // Asked for before the next fetch begins: bytes keep their order, whichever fetch ends first.
    reads[1]!.end();
    expect((await second).value).toEqual(plaintext.subarray(65_536, 2 * 65_536));
    expect(reads).toHaveLength(4);
    await pieces.return();
    expect(reads).toHaveLength(4);
  });

  test('begins with a short fetch where that was asked for and several are needed', async () => {
    const { source, reads } = recordingSource(container);
    const options = { privateKeys, segmentsPerFetch: 2, segmentsInFirstFetch: 1, fetchesInFlight: 2 };
    const reader = await openContainer(source, options);
    reads.length = 0;
    expect(await collect(reader.stream())).toEqual(plaintext);
    expect(reads.slice(0, 3).map(([offset]) => offset)).toEqual(
      [0, 1, 3].map((segment) => headerBytes + segment * encryptedSegmentBytes),
    );
    reads.length = 0;
    expect(await collect(reader.stream(10, 65_536 + 10))).toEqual(plaintext.subarray(10, 65_536 + 10));
    expect(reads).toEqual([[headerBytes, 2 * encryptedSegmentBytes]]);
    // As short deep in the file.
    reads.length = 0;
    const deep = 3 * 65_536 + 10;
    expect(await collect(reader.stream(deep, deep + 65_536))).toEqual(plaintext.subarray(deep, deep + 65_536));
    expect(reads).toEqual([[headerBytes + 3 * encryptedSegmentBytes, 2 * encryptedSegmentBytes]]);
  });

  test('gives the memory of what it fetched back only where it was given away', async () => {
    const given: Uint8Array[] = [];
    const source = {
      size: container.length,
      read: async (offset: number, length: number) => {
        const bytes = Uint8Array.from(container.subarray(offset, offset + length));
        given.push(bytes);
        return bytes;
      },
    };
    for (const ownsReads of [true, false]) {
      const reader = await openContainer(source, { privateKeys, segmentsPerFetch: 1, fetchesInFlight: 2, ownsReads });
      given.length = 0;
      expect(await collect(reader.stream())).toEqual(plaintext);
      // The last one is too small to be worth it.
      expect(given.map(({ length }) => length)).toEqual([
        ...Array(5).fill(ownsReads ? 0 : encryptedSegmentBytes),
        1_028,
      ]);
    }
  });

  test('an error comes after what is before it, and starts no more', async () => {
    const { reader, reads } = await heldReader(2);
    const pieces = reader.stream();
    const first = pieces.next();
    reads[1]!.fail();
    reads[0]!.end();
    expect((await first).value).toEqual(plaintext.subarray(0, 65_536));
    const second = pieces.next();
    await expect(second).rejects.toThrow('connection reset');
    const begun = reads.length;
    expect(await pieces.next()).toEqual({ done: true, value: undefined });
    expect(reads).toHaveLength(begun);
  });
});

test('a size known from elsewhere shows a file that is cut between two segments, before anything is read', async () => {
  const cut = bytesSource(container.subarray(0, headerBytes + 2 * encryptedSegmentBytes));
  const expectedSize = plaintext.length;
  await expect(openContainer(cut, { privateKeys, expectedSize })).rejects.toMatchObject({
    code: 'truncated-body',
    segment: 2,
    start: 2 * encryptedSegmentBytes,
  });
  await expect(openContainer(bytesSource(container), { privateKeys, expectedSize: 2 * 65_536 })).rejects.toMatchObject({
    code: 'oversized-body',
  });
  const unknown = recordingSource(container.subarray(0, headerBytes + 2 * encryptedSegmentBytes), {
    knowsSize: false,
  });
  const reader = await openContainer(unknown.source, { privateKeys, expectedSize });
  expect(reader.size).toBe(expectedSize);
  await expect(reader.read(2 * 65_536 - 1, 2)).rejects.toMatchObject({ code: 'truncated-body', segment: 2 });
});

test('a header can be longer than the first read', async () => {
  const editList = Array.from({ length: 5_000 }, () => 1n);
  const long = await collect(encrypt([plaintext], { recipients: [publicKey], editList }));
  const reader = await openContainer(bytesSource(long), { privateKeys });
  expect(await reader.read(100, 1)).toEqual(plaintext.subarray(201, 202));
  await expect(openContainer(bytesSource(long.subarray(0, 5_000)), { privateKeys })).rejects.toMatchObject({
    code: 'truncated-header',
  });
});

test('invalid positions are refused', async () => {
  const { reader } = await readerOf();
  for (const [offset, length] of [
    [-1, 5],
    [0.5, 1],
    [5, -1],
    [Number.NaN, 1],
  ] as const) {
    await expect(reader.read(offset, length)).rejects.toThrow(RangeError);
  }
  for (const wrong of [{ segmentsPerFetch: 0 }, { fetchesInFlight: 0 }, { fetchesInFlight: 1.5 }]) {
    await expect(openContainer(bytesSource(container), { privateKeys, ...wrong })).rejects.toThrow(RangeError);
  }
});

describe('files', () => {
  const directory = mkdtempSync(join(tmpdir(), 'crypt4gh-reader-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  test('are sources', async () => {
    const path = join(directory, 'file.c4gh');
    writeFileSync(path, container);
    const file = await open(path);
    const reader = await openContainer(await fileSource(file), { privateKeys });
    expect(await reader.read(100_000, 200_000)).toEqual(plaintext.subarray(100_000, 300_000));
    await file.close();
  });

  test('that shrink while they are read are cut short', async () => {
    const path = join(directory, 'shrinking.c4gh');
    writeFileSync(path, container);
    const file = await open(path);
    const reader = await openContainer(await fileSource(file), { privateKeys });
    writeFileSync(path, container.subarray(0, headerBytes + encryptedSegmentBytes));
    await expect(reader.read(0, 100_000)).rejects.toMatchObject({ code: 'truncated-body', segment: 1 });
    await file.close();
  });
});
