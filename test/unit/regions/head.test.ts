import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { DataOutError } from '../../../lib/errors.ts';
import {
  type DataFormat,
  endMarkers,
  formatOf,
  indexPathsOf,
  openPart,
  readHead,
  readIndex,
  splitter,
  virtualRangesOf,
  wholeBlockRanges,
  wholeFile,
} from '../../../lib/regions/index.ts';
import {
  bai,
  bais,
  bamHeader,
  bgzf,
  joined,
  memory,
  offset,
  opened,
  recordsOf,
  streamed,
  vector,
} from '../../helpers/region-files.ts';

const references = [
  { name: 'one', length: 300_000 },
  { name: 'two', length: 70_000 },
  { name: 'three', length: 20_000 },
];
const contigs = [{ name: 'unused', length: 1000 }, ...references];

describe('the format and the index of a file by its name', () => {
  test.each([
    ['a/x.bam', 'BAM', ['a/x.bam.bai', 'a/x.bai', 'a/x.bam.csi', 'a/x.csi']],
    ['x.cram.c4gh', 'CRAM', ['x.cram.crai', 'x.crai']],
    ['X.VCF.GZ.C4GH', 'VCF', ['X.VCF.GZ.tbi', 'X.tbi', 'X.VCF.GZ.csi', 'X.csi']],
    ['x.vcf.bgz', 'VCF', ['x.vcf.bgz.tbi', 'x.tbi', 'x.vcf.bgz.csi', 'x.csi']],
    ['x.bcf', 'BCF', ['x.bcf.csi', 'x.csi']],
  ])('%s is %s', (path, format, indexes) => {
    expect(formatOf(path)).toBe(format);
    expect(indexPathsOf(path)).toEqual(indexes.flatMap((index) => [index, `${index}.c4gh`]));
  });

  test.each(['x.vcf', 'x.bam.bai', 'x.fastq.gz', '.bam', 'bam', 'x.bam.gpg'])('%s has none', (path) => {
    expect(formatOf(path)).toBeUndefined();
    expect(indexPathsOf(path)).toEqual([]);
  });
});

describe('the header of a file', () => {
  // Ends and sizes of blocks as bgzip and a hex dump of the containers show them.
  test.each<[file: string, format: DataFormat, names: typeof references, end: number]>([
    ['reads.bam', 'BAM', references, 198],
    ['empty.bam', 'BAM', references, 200],
    ['reads.cram', 'CRAM', references, 548],
    ['several.cram', 'CRAM', references, 563],
  ])('of %s ends with a block', async (file, format, names, block) => {
    const bytes = vector(file);
    const source = memory(bytes);
    const head = await readHead(source, format);
    expect(head).toMatchObject({ format, references: names, end: { block, within: 0 }, size: bytes.length });
    expect(bytes.subarray(0, head.end.block).equals(head.bytes)).toBe(true);
    expect(source.bytesRead).toBeLessThan(270_000);
  });

  test.each<[file: string, format: DataFormat, names: typeof references]>([
    ['spanning.bam', 'BAM', references],
    ['variants.vcf.gz', 'VCF', contigs],
    ['variants.bcf', 'BCF', contigs],
  ])('of %s is compressed again, as records share its block', async (file, format, names) => {
    const head = await readHead(memory(vector(file)), format);
    expect(head).toMatchObject({ references: names });
    expect(head.end.block).toBe(0);
    expect(head.end.within).toBeGreaterThan(100);
    expect(recordsOf(format, head.bytes)).toEqual([]);
  });

  test('ends with the file that has nothing else, with or without an end marker', async () => {
    const { bytes } = bgzf(bamHeader(), [20, 10, 1000]);
    const head = await readHead(memory(bytes), 'BAM');
    expect(head).toMatchObject({ end: { block: bytes.length, within: 0 } });
    expect(wholeFile(head)).toEqual({ start: head.end, end: head.end });
    expect(await joined(memory(bytes), 'BAM', [wholeFile(head)])).toHaveLength(0);
    const file = { source: memory(bytes), head, index: await readIndex(streamed(bai(0))) };
    expect(await wholeBlockRanges(file, [], { most: 10 })).toEqual([{ start: 0, end: bytes.length }]);
  });

  test('of a file without an end marker is followed by all records', async () => {
    const bytes = vector('reads.bam').subarray(0, -28);
    const source = memory(bytes);
    const head = await readHead(source, 'BAM');
    const records = await joined(source, 'BAM', splitter([wholeFile(head)])(65_536));
    expect(records.equals(bytes.subarray(198))).toBe(true);
  });

  test('numbers the contigs of BCF by IDX where it has one', async () => {
    const text = '##fileformat=VCFv4.3\n##contig=<ID=b,length=5,IDX=2>\n##contig=<ID=a,IDX=0>\n#CHROM\n\0';
    const plain = Buffer.concat([Buffer.from('BCF\x02\x02'), Buffer.from([text.length, 0, 0, 0]), Buffer.from(text)]);
    const head = await readHead(memory(bgzf(plain, [plain.length]).bytes), 'BCF');
    expect(head.references).toEqual([{ name: 'a' }, undefined, { name: 'b', length: 5 }]);
  });
});

test.each([60_000, 70_000, 300_000])('a line of %d characters ends where its end of line is', async (length) => {
  const header = `##fileformat=VCFv4.3\n##contig=<ID=one>\n##long=${'x'.repeat(length)}\n#CHROM\tPOS\n`;
  const plain = Buffer.from(`${header}one\t5\t.\tA\tC\t.\t.\t.\n`);
  const { bytes } = bgzf(plain);
  const head = await readHead(memory(Buffer.concat([bytes, endMarkers.VCF])), 'VCF');
  expect(gunzipSync(head.bytes).toString()).toBe(header);
});

test('a VCF header of millions of lines is refused', async () => {
  const plain = Buffer.concat([Buffer.from('##fileformat=VCFv4.3\n'), Buffer.alloc(5_000_000, '#\n')]);
  const { bytes } = bgzf(plain);
  await expect(readHead(memory(bytes), 'VCF')).rejects.toThrow('its header has more than 2097152 lines');
});

describe('regions', () => {
  test('of references that only the header has are empty, others unknown', async () => {
    const { index, head } = await opened('variants.vcf.gz', 'variants.vcf.gz.tbi');
    expect(virtualRangesOf(index, head, [{ referenceName: 'three' }])).toEqual([]);
    expect(() => virtualRangesOf(index, head, [{ referenceName: 'four' }])).toThrow(
      new DataOutError('not_found', 'the file has no reference sequence "four"'),
    );
    expect(() => virtualRangesOf(index, head, [{ referenceName: '*' }])).toThrow(
      expect.objectContaining({ code: 'not_found' }),
    );
  });

  test('read two blocks for each range, beside what is sent as it is', async () => {
    const { index, head } = await opened('reads.bam', 'reads.bam.bai');
    const ranges = virtualRangesOf(index, head, [{ referenceName: 'one', start: 99_000, end: 100_000 }]);
    expect(ranges).toHaveLength(1);
    const source = memory(vector('reads.bam'));
    for (const range of ranges) expect((await openPart(source, 'BAM', range)).size).toBeLessThan(60_000);
    expect(source.bytesRead).toBeLessThanOrEqual(2 * 32_768);
  });

  test('end where the next bin of any size begins, as htslib keeps only large ones where there is little data', async () => {
    const { head } = await opened('reads.bam', 'reads.bam.bai');
    const chunk = (start: number, end: number) => [offset(start), offset(end)] as const;
    // Bins of 128 kb from position 0 and from 131,072 on, and the one of 1 Mb with what reaches over two of the former.
    const index = await readIndex(
      streamed(
        bais([585, chunk(1_000, 2_000)], [586, chunk(3_000, 4_000)], [73, chunk(2_000, 3_000), chunk(9_000, 9_500)]),
      ),
    );
    const of = (start: number, end: number) =>
      virtualRangesOf(index, head, [{ referenceName: 'one', start, end }]).map((range) => [
        range.start.block,
        range.end.block,
      ]);
    expect(of(0, 100)).toEqual([[1_000, 3_000]]);
    expect(of(140_000, 140_100)).toEqual([
      [2_000, 4_000],
      [9_000, 9_500],
    ]);
  });

  test.each([
    [-1, 5],
    [5, 4],
    [Number.NaN, 4],
  ])('from %d to %d are refused', async (start, end) => {
    const { index, head } = await opened('reads.bam', 'reads.bam.bai');
    expect(() => virtualRangesOf(index, head, [{ referenceName: 'one', start, end }])).toThrow(RangeError);
  });
});

describe('what is kept of a file whose blocks are not changed', () => {
  // The first blocks end at bytes 198, 23,495, 46,501, 69,933 and 92,981, and the last of records at 249,414, as their headers say.
  test.each<[what: string, start: number, end: number, kept: readonly (readonly [number, number])[]]>([
    [
      'behind the region',
      100_000,
      110_000,
      [
        [0, 92_981],
        [249_414, 249_442],
      ],
    ],
    [
      'before the region',
      150_000,
      160_000,
      [
        [0, 198],
        [69_933, 249_442],
      ],
    ],
  ])('is cut near where a record ends with a block, proven by that block: %s', async (_, start, end, kept) => {
    const file = await opened('reads.bam', 'reads.bam.bai');
    const ranges = virtualRangesOf(file.index, file.head, [{ referenceName: 'one', start, end }]);
    const before = file.source.bytesRead;
    expect((await wholeBlockRanges(file, ranges, { most: 10 })).map((range) => [range.start, range.end])).toEqual(kept);
    // At the other end of the region the index itself names a cut within 64 KiB. The end marker is looked for.
    expect(file.source.bytesRead - before).toBe(32_768 + 28);
  });

  test('cannot be cut where no near block starts with a record', async () => {
    const file = await opened('spanning.bam', 'spanning.bam.bai');
    const ranges = virtualRangesOf(file.index, file.head, [{ referenceName: 'one', start: 150_000, end: 160_000 }]);
    await expect(wholeBlockRanges(file, ranges, { most: 10, widestBytes: 65_536 })).rejects.toThrow(
      /^The file cannot be cut into regions: the nearest cuts would add \d+ bytes, above 65536$/,
    );
    expect(await wholeBlockRanges(file, ranges, { most: 10 })).toEqual([{ start: 0, end: file.head.size }]);
  });

  test('is never said to be more than the file, however many regions have no near cut', async () => {
    const file = await opened('spanning.bam', 'spanning.bam.bai');
    const regions = [20_000, 90_000, 160_000].map((start) => ({ referenceName: 'one', start, end: start + 100 }));
    const refused = wholeBlockRanges(file, virtualRangesOf(file.index, file.head, regions), {
      most: 10,
      widestBytes: 0,
    });
    const { message } = await refused.then(
      () => expect.unreachable(),
      (error: Error) => error,
    );
    const [, bytes] = /would add (\d+) bytes/.exec(message) ?? [];
    expect(Number(bytes)).toBeLessThan(file.head.size);
  });

  test('is at most ten ranges, header and end marker included', async () => {
    const bytes = Buffer.concat([Buffer.alloc(2_000_000), endMarkers.BAM]);
    const head = { ...(await opened('reads.bam', 'reads.bam.bai')).head, size: bytes.length };
    const starts = Array.from({ length: 40 }, (_, number) => 1000 + number * 40_000 + (number % 7) * 1000);
    const index = await readIndex(
      streamed(bai(4681, ...starts.map((start) => [offset(start), offset(start + 500)] as const))),
    );
    const ranges = virtualRangesOf(index, head, [{ referenceName: 'one', start: 0, end: 100 }]);
    expect(ranges).toHaveLength(40);
    const kept = await wholeBlockRanges({ source: memory(bytes), head, index }, ranges, { most: 10 });
    expect(kept).toHaveLength(10);
    for (const start of starts) {
      expect(kept.some((range) => range.start <= start && start + 500 <= range.end)).toBe(true);
    }
  });
});
