import { describe, expect, test } from 'vitest';
import { splitter, virtualRangesOf, wholeBlockRanges, wholeFile } from '../../../lib/regions/index.ts';
import { answers, digest, parsed, within } from '../../helpers/region-answers.ts';
import { joined, opened, recordsOf, vector } from '../../helpers/region-files.ts';

const files = [
  ['reads.bam', 'reads.bam.bai'],
  ['reads.bam', 'reads.bam.csi'],
  ['spanning.bam', 'spanning.bam.bai'],
  ['empty.bam', 'empty.bam.bai'],
  ['variants.vcf.gz', 'variants.vcf.gz.tbi'],
  ['variants.vcf.gz', 'variants.vcf.gz.csi'],
  ['variants.bcf', 'variants.bcf.csi'],
] as const;
const cases = files.flatMap(([data, index]) =>
  Object.keys(answers[data]!).map((regions) => [data, index, regions] as const),
);

describe('htslib finds the same records', () => {
  test.each(cases)('in %s with %s: %s', async (data, index, text) => {
    const file = await opened(data, index);
    const regions = parsed(text);
    const ranges = text === 'whole' ? [wholeFile(file.head)] : virtualRangesOf(file.index, file.head, regions);
    const parts = await joined(file.source, file.format, splitter(ranges, file.index)(65_536));
    const answer = Buffer.concat([file.head.bytes, parts]);
    expect(digest(within(recordsOf(file.format, answer), regions))).toEqual(answers[data]![text]);
  });

  test.each(cases)('in what is kept of %s with %s: %s', async (data, index, text) => {
    const file = await opened(data, index);
    const regions = parsed(text);
    const ranges = text === 'whole' ? [wholeFile(file.head)] : virtualRangesOf(file.index, file.head, regions);
    const before = file.source.reads;
    const kept = await wholeBlockRanges(file, ranges, { most: 10 });
    expect(kept.length).toBeLessThanOrEqual(10);
    // A block at each end of a range, that of the header where records share it, and the end of the file.
    expect(file.source.reads - before).toBeLessThanOrEqual(2 * Math.min(ranges.length, 8) + 2);
    const answer = Buffer.concat(kept.map(({ start, end }) => vector(data).subarray(start, end)));
    expect(digest(within(recordsOf(file.format, answer), regions))).toEqual(answers[data]![text]);
  });
});
