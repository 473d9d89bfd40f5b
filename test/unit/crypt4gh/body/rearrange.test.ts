import { describe, expect, test } from 'vitest';
import {
  bytesSource,
  decrypt,
  encrypt,
  generateKeyPair,
  headerLength,
  openHeader,
  planRearrangement,
  rearrange,
  type VisibleRange,
} from '../../../../lib/crypt4gh/index.ts';
import { collect, generatedPlaintext, inChunks } from '../../../helpers/crypt4gh-vectors.ts';
import { recordingSource } from '../../../helpers/recording-source.ts';

const encryptedSegmentBytes = 65_564;
const owner = generateKeyPair();
const reader = generateKeyPair();
const plaintext = generatedPlaintext('rearrange', 5 * 65_536 + 1_000);
const container = await collect(encrypt([plaintext], { recipients: [owner.publicKey] }));
const options = { privateKeys: [owner.privateKey], recipients: [reader.publicKey] };

function cut(ranges: VisibleRange[], source: Parameters<typeof rearrange>[0] = bytesSource(container)) {
  return collect(rearrange(source, { ...options, ranges }));
}

function read(bytes: Uint8Array) {
  return collect(decrypt([bytes], { privateKeys: [reader.privateKey] }));
}

describe('a container of ranges', () => {
  test('of a source whose size ends inside the header is cut short, like any other access to it', async () => {
    const cutting = cut([{ start: 0, end: 10 }], { ...bytesSource(container), size: 100 });
    await expect(cutting).rejects.toMatchObject({ code: 'truncated-header' });
  });

  test.each(['a text', container, new Blob([]), null])('is not made of what is not a source: %s', async (source) => {
    await expect(cut([], source as never)).rejects.toThrow(/^expected a stream, an array or another iterable/);
  });

  test('needs a key that opens the old one', async () => {
    const keyless = rearrange(bytesSource(container), { ...options, privateKeys: [], ranges: [] });
    await expect(collect(keyless)).rejects.toThrow(new RangeError('expected at least one private key'));
  });

  test.each([true, false])(
    'is the same from a source that gives little at a time, size known: %s',
    async (knowsSize) => {
      const { source } = recordingSource(container, { mostBytes: 40_000, knowsSize });
      const result = await cut([{ start: 10, end: 3 * 65_536 + 7 }], source);
      expect((await read(result)).equals(plaintext.subarray(10, 3 * 65_536 + 7))).toBe(true);
    },
  );

  test('has only their segments, as they were, and reads exactly', async () => {
    const result = await cut([
      { start: 4 * 65_536 + 5, end: 4 * 65_536 + 7 },
      { start: 10, end: 20 },
    ]);
    const length = headerLength(result)!;
    const segment = (index: number) =>
      container.subarray(124 + index * encryptedSegmentBytes, 124 + (index + 1) * encryptedSegmentBytes);
    expect(result.subarray(length)).toEqual(Buffer.concat([segment(0), segment(4)]));
    expect(openHeader(result, [reader.privateKey]).editList).toEqual([10n, 10n, 65_536n - 15n, 2n]);
    const parts = [plaintext.subarray(10, 20), plaintext.subarray(4 * 65_536 + 5, 4 * 65_536 + 7)];
    expect(await read(result)).toEqual(Buffer.concat(parts));
  });

  test('needs no edit list where whole segments are kept', async () => {
    const result = await cut([{ start: 65_536, end: 2 * 65_536 }, { start: 5 * 65_536 }]);
    expect(openHeader(result, [reader.privateKey]).editList).toBeUndefined();
    const expected = Buffer.concat([plaintext.subarray(65_536, 2 * 65_536), plaintext.subarray(5 * 65_536)]);
    expect(await read(result)).toEqual(expected);
  });

  test('takes bytes in two ranges once', async () => {
    const result = await cut([
      { start: 100, end: 200 },
      { start: 150, end: 250 },
      { start: 250, end: 300 },
    ]);
    expect(await read(result)).toEqual(plaintext.subarray(100, 300));
    expect(openHeader(result, [reader.privateKey]).editList).toEqual([100n, 200n]);
  });

  test('of nothing is a header', async () => {
    for (const ranges of [[], [{ start: 5, end: 5 }], [{ start: 10_000_000, end: 10_000_005 }]]) {
      const result = await cut(ranges);
      expect(result.length).toBe(124);
      expect((await read(result)).length).toBe(0);
    }
  });

  test('counts positions in what the reader sees, and takes the old edit list in', async () => {
    const editList = [10n, 5n, 65_536n, 5n, 100n];
    const edited = await collect(encrypt([plaintext], { recipients: [owner.publicKey], editList }));
    const visible = await collect(decrypt([edited], { privateKeys: [owner.privateKey] }));
    const result = await cut([{ start: 3, end: 8 }, { start: visible.length - 4 }], bytesSource(edited));
    expect(await read(result)).toEqual(Buffer.concat([visible.subarray(3, 8), visible.subarray(-4)]));
    // Segments 0, 1 and the last one.
    expect(result.length - headerLength(result)!).toBe(2 * encryptedSegmentBytes + 1_028);
  });

  test('can be rearranged again', async () => {
    const first = await cut([{ start: 60_000, end: 80_000 }, { start: 300_000 }]);
    const again = rearrange(bytesSource(first), {
      privateKeys: [reader.privateKey],
      recipients: [owner.publicKey],
      ranges: [{ start: 19_999, end: 20_001 }],
    });
    const bytes = await collect(decrypt(again, { privateKeys: [owner.privateKey] }));
    expect(bytes).toEqual(Buffer.concat([plaintext.subarray(79_999, 80_000), plaintext.subarray(300_000, 300_001)]));
  });
});

describe('sources', () => {
  test.each([1_000, 65_564, 1_000_000])('that come in chunks of %d bytes give the same body', async (size) => {
    const ranges = [{ start: 65_536 + 5, end: 65_536 + 10 }, { start: 200_000 }];
    const [streamed, random] = [await cut(ranges, inChunks(container, size)), await cut(ranges)];
    expect(streamed.subarray(-1_028 - 2 * encryptedSegmentBytes - encryptedSegmentBytes)).toEqual(
      random.subarray(-1_028 - 2 * encryptedSegmentBytes - encryptedSegmentBytes),
    );
    expect(await read(streamed)).toEqual(await read(random));
  });

  test('read by position are read only where needed', async () => {
    const { source, reads } = recordingSource(container);
    await cut([{ start: 2 * 65_536, end: 2 * 65_536 + 1 }], source);
    expect(reads).toEqual([
      [0, 4_096],
      [124 + 2 * encryptedSegmentBytes, encryptedSegmentBytes],
    ]);
  });

  test('of unknown size end where they end', async () => {
    const { source } = recordingSource(container, { knowsSize: false });
    expect(await read(await cut([{ start: 5 * 65_536 + 990 }], source))).toEqual(plaintext.subarray(-10));
  });

  test('that end before the size they claim are told, not cut short in silence', async () => {
    const source = {
      ...bytesSource(container.subarray(0, 124 + 3 * encryptedSegmentBytes + 7)),
      size: container.length,
    };
    const ranges = [{ start: 5, end: 6 }, { start: 2 * 65_536 }];
    await expect(cut(ranges, source)).rejects.toMatchObject({
      code: 'truncated-body',
      segment: 3,
      start: 3 * encryptedSegmentBytes + 7,
      end: container.length - 124,
    });
  });

  test('that stream are closed after the last segment needed', async () => {
    let pulled = 0;
    let closed = false;
    async function* source() {
      try {
        for (const chunk of inChunks(container, 10_000)) {
          pulled += chunk.length;
          yield chunk;
        }
      } finally {
        closed = true;
      }
    }
    await cut([{ start: 5, end: 20 }], source());
    expect({ pulled, closed }).toEqual({ pulled: 70_000, closed: true });
  });
});

describe('a plan', () => {
  test('joins neighbouring segments and says what to take of the body', () => {
    const plan = planRearrangement({
      ranges: [
        { start: 65_535, end: 65_537 },
        { start: 131_072, end: 131_073 },
        { start: 400_000, end: 400_001 },
      ],
      bodySize: 7 * encryptedSegmentBytes,
    });
    expect(plan.bodyRanges).toEqual([
      { start: 0, end: 3 * encryptedSegmentBytes },
      { start: 6 * encryptedSegmentBytes, end: 7 * encryptedSegmentBytes },
    ]);
    expect(plan.editList).toEqual([65_535n, 2n, 65_535n, 1n, 65_535n + 400_000n - 6n * 65_536n, 1n]);
  });

  test('is open where the end is not known', () => {
    expect(planRearrangement({ ranges: [{ start: 65_540 }] })).toEqual({
      bodyRanges: [{ start: encryptedSegmentBytes, end: undefined }],
      editList: [4n],
    });
    const whole = planRearrangement({ ranges: [{ start: 0 }] });
    expect(whole).toEqual({ bodyRanges: [{ start: 0, end: undefined }], editList: undefined });
  });

  test('of an edit list with values no file has is still exact', () => {
    const huge = 2n ** 64n - 1n;
    expect(planRearrangement({ ranges: [{ start: 0 }], editList: [5n, huge, huge, huge] })).toEqual({
      bodyRanges: [{ start: 0, end: undefined }],
      editList: [5n],
    });
    expect(planRearrangement({ ranges: [{ start: 0 }], editList: [huge, 5n] }).bodyRanges).toEqual([]);
  });

  test.each([[{ start: -1 }], [{ start: 0.5 }], [{ start: 5, end: 4 }], [{ start: 0, end: Number.POSITIVE_INFINITY }]])(
    'of %o is refused',
    (range) => {
      expect(() => planRearrangement({ ranges: [range] })).toThrow(RangeError);
    },
  );
});

test('without a matching key nothing is given out', async () => {
  const stranger = { ...options, privateKeys: [reader.privateKey], ranges: [{ start: 0 }] };
  for (const source of [[container], bytesSource(container)]) {
    await expect(collect(rearrange(source, stranger))).rejects.toMatchObject({ code: 'no-decryptable-packet' });
  }
});
