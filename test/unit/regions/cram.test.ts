import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { DataOutError } from '../../../lib/errors.ts';
import {
  type Region,
  RegionsError,
  readHead,
  readIndex,
  splitter,
  virtualRangesOf,
  wholeBlockRanges,
  wholeFile,
} from '../../../lib/regions/index.ts';
import { joined, memory, opened, streamed, vector, words } from '../../helpers/region-files.ts';

/** The first two and the last containers of `reads.cram` begin here, by its CRAI; three slices each. */
const [first, second, third, fourth, fifth] = [548, 13_765, 27_099, 40_481, 53_854];
const unplaced = 100_930;
/** Bytes of the file, and of its end marker at the end. */
const size = 111_880;
const markerBytes = 38;
const dataEnd = size - markerBytes;
const at = (start: number, end: number) => ({ start: { block: start, within: 0 }, end: { block: end, within: 0 } });

describe('the header of a CRAM file', () => {
  /** A CRAM file of a header alone, whose block is compressed by gzip (CRAM 3.0 § 6, § 7, § 8.1). */
  function cramOf(header: string): Buffer {
    const text = Buffer.from(header);
    const data = gzipSync(Buffer.concat([words(text.length), text]), { level: 1 });
    const block = Buffer.concat([Buffer.from([1, 0, 0]), itf8(data.length), itf8(4 + text.length), data, words(0)]);
    return Buffer.concat([
      Buffer.from('CRAM\x03\x00'),
      Buffer.alloc(20),
      words(block.length),
      // Reference, start, span, records, counter of records, bases, one block, no landmark.
      Buffer.from([0, 0, 0, 0, 0, 0, 1, 0]),
      words(0),
      block,
    ]);
  }
  /** A number in five bytes (CRAM 3.0 § 2.3). */
  function itf8(value: number): Buffer {
    return Buffer.from([0xf0 | (value >>> 28), value >>> 20, value >>> 12, value >>> 4, value & 15]);
  }
  const names = (count: number) => Array.from({ length: count }, (_, at) => `@SQ\tSN:c${at}\tLN:${at + 1}\n`).join('');

  test('can have many names', async () => {
    const { references, memoryBytes } = await readHead(memory(cramOf(names(20_000))), 'CRAM');
    expect([references.length, references[0], references.at(-1)]).toEqual([
      20_000,
      { name: 'c0', length: 1 },
      { name: 'c19999', length: 20_000 },
    ]);
    expect(memoryBytes).toBeGreaterThan(20_000 * (100 + 2 * 'c9999'.length));
  });

  test('is refused with more names than any reader can use', async () => {
    const error = await readHead(memory(cramOf('@SQ\tSN:x\n'.repeat(2 ** 20 + 1))), 'CRAM').catch((reason) => reason);
    expect(error).toEqual(new RegionsError('it has more than 1048576 references'));
  });
});

describe('regions of a CRAM file', () => {
  test.each<[what: string, regions: readonly Region[], containers: readonly (readonly [number, number])[]]>([
    ['the first position with a read', [{ referenceName: 'one', start: 9, end: 10 }], [[first, second]]],
    ['positions before all reads', [{ referenceName: 'one', start: 0, end: 9 }], []],
    [
      'a slice that reaches over two containers',
      [{ referenceName: 'one', start: 60_000, end: 60_010 }],
      [[second, third]],
    ],
    [
      'both ends of a reference',
      [
        { referenceName: 'one', start: 0, end: 10 },
        { referenceName: 'one', start: 299_900 },
      ],
      [
        [first, second],
        [67_254, 80_068],
      ],
    ],
    ['neighbours as one', [{ referenceName: 'one', start: 100_000, end: 200_000 }], [[second, 67_254]]],
    ['a reference without reads', [{ referenceName: 'three' }], []],
    ['reads without a reference', [{ referenceName: '*' }], [[unplaced, size]]],
    [
      'the last reference and what is unplaced',
      [{ referenceName: '*' }, { referenceName: 'two', start: 65_000 }],
      [[93_452, size]],
    ],
    ['no regions', [], []],
  ])('hold the containers of %s', async (_, regions, containers) => {
    const { index, head } = await opened('reads.cram', 'reads.cram.crai');
    expect(virtualRangesOf(index, head, regions)).toEqual(containers.map(([start, end]) => at(start, end)));
  });

  test('take a container that two references share for both', async () => {
    const { index, head } = await opened('several.cram', 'several.cram.crai');
    const of = (referenceName: string, start: number, end: number) =>
      virtualRangesOf(index, head, [{ referenceName, start, end }]);
    expect(of('one', 295_000, 300_000)).toEqual([at(68_732, 80_209)]);
    expect(of('two', 0, 100)).toEqual([at(68_732, 80_209)]);
    expect(virtualRangesOf(index, head, [{ referenceName: '*' }])).toEqual([at(91_509, 107_377 + markerBytes)]);
  });

  test('have every container whose references the index does not tell (-2), and an index need not be compressed', async () => {
    const { head } = await opened('reads.cram', 'reads.cram.crai');
    const text = `0\t10\t14097\t${first}\t0\t1\n-2\t0\t0\t${second}\t0\t1\n0\t93028\t100\t${third}\t0\t1\n`;
    for (const bytes of [Buffer.from(text), Buffer.from(text.trimEnd()), gzipSync(text)]) {
      const index = await readIndex(streamed(bytes, 7));
      expect(virtualRangesOf(index, head, [{ referenceName: 'two' }])).toEqual([at(second, third)]);
      expect(virtualRangesOf(index, head, [{ referenceName: 'one', start: 93_027, end: 93_028 }])).toEqual([
        at(second, size),
      ]);
      expect(virtualRangesOf(index, head, [{ referenceName: 'one', start: 0, end: 20 }])).toEqual([at(first, third)]);
    }
  });

  test('are unknown for a name that the header has not', async () => {
    const { index, head } = await opened('reads.cram', 'reads.cram.crai');
    expect(() => virtualRangesOf(index, head, [{ referenceName: 'four' }])).toThrow(
      new DataOutError('not_found', 'the file has no reference sequence "four"'),
    );
  });

  test('in a container larger than a part are their own part, and one above 64 MiB is cut', async () => {
    const mebibyte = 2 ** 20;
    const text = [0, 3, 40, 200].map((at) => `0\t1\t10\t${at * mebibyte}\t0\t1\n`).join('');
    const index = await readIndex(streamed(Buffer.from(text)));
    const parts = splitter([at(0, 210 * mebibyte)], index)(5 * mebibyte);
    const borders = parts.map(({ start: { block, nominal } }) => [block / mebibyte, nominal ?? false]);
    expect(borders.slice(0, 5)).toEqual([
      [0, false],
      [3, false],
      [40, false],
      [45, true],
      [50, true],
    ]);
    expect(borders.slice(-3)).toEqual([
      [140, true],
      [200, false],
      [205, true],
    ]);
  });

  test('are parts of whole containers, and without an index of any bytes', async () => {
    const { index, head, source } = await opened('reads.cram', 'reads.cram.crai');
    const whole = [wholeFile(head)];
    expect(splitter(whole, index)(65_536)).toEqual([at(first, fifth), at(fifth, size)]);
    const blind = splitter(whole)(65_536);
    expect(blind.map(({ start, end }) => [start.block, end.block])).toEqual([
      [first, first + 65_536],
      [first + 65_536, size],
    ]);
    for (const parts of [blind, splitter(whole, index)(65_536)]) {
      const answer = Buffer.concat([head.bytes, await joined(source, 'CRAM', parts)]);
      expect(answer.equals(vector('reads.cram'))).toBe(true);
    }
  });

  test('keep header, containers and end marker where nothing is changed', async () => {
    const file = await opened('reads.cram', 'reads.cram.crai');
    const before = file.source.bytesRead;
    const ranges = [at(second, third), at(fourth, fifth)];
    expect(await wholeBlockRanges(file, ranges, { most: 10 })).toEqual([
      { start: 0, end: first },
      { start: second, end: third },
      { start: fourth, end: fifth },
      { start: dataEnd, end: size },
    ]);
    expect(await wholeBlockRanges(file, ranges, { most: 2 })).toEqual([
      { start: 0, end: fifth },
      { start: dataEnd, end: size },
    ]);
    expect(file.source.bytesRead).toBe(before + 2 * markerBytes);
  });
});
