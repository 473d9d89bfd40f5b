import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { endMarkers, splitter, virtualRangesOf, wholeBlockRanges, wholeFile } from '../../../lib/regions/index.ts';
import { answers, digest, parsed, within } from '../../helpers/region-answers.ts';
import { joined, opened, recordsOf, vector } from '../../helpers/region-files.ts';

/** samtools and bcftools read the answers themselves; CRAM is decoded by samtools alone. */
const folder = mkdtempSync(join(tmpdir(), 'regions-interop-'));
afterAll(() => rmSync(folder, { recursive: true }));
const make = fileURLToPath(new URL('../../vectors/regions/make.py', import.meta.url));
writeFileSync(join(folder, 'reference.fa'), execFileSync('python3', [make, 'reference']));

const files = [
  ['reads.bam', 'reads.bam.bai'],
  ['spanning.bam', 'spanning.bam.bai'],
  ['reads.cram', 'reads.cram.crai'],
  ['several.cram', 'several.cram.crai'],
  ['variants.vcf.gz', 'variants.vcf.gz.tbi'],
  ['variants.bcf', 'variants.bcf.csi'],
] as const;
const cases = files.flatMap(([data, index]) => Object.keys(answers[data]!).map((text) => [data, index, text] as const));

test.each(cases)('htslib reads the answer out of %s with %s: %s', async (data, index, text) => {
  const { source, format, head, index: opens } = await opened(data, index);
  const regions = parsed(text);
  const ranges = text === 'whole' ? [wholeFile(head)] : virtualRangesOf(opens, head, regions);
  const parts = await joined(source, format, splitter(ranges, opens)(65_536));
  const kept = await wholeBlockRanges({ source, head, index: opens }, ranges, { most: 10 });
  const marker = ranges.at(-1)?.end.block === head.size ? [] : [endMarkers[format]];
  const whole = [
    Buffer.concat([head.bytes, parts, ...marker]),
    Buffer.concat(kept.map(({ start, end }) => vector(data).subarray(start, end))),
  ];
  for (const answer of whole) {
    writeFileSync(join(folder, data), answer);
    const reads = format === 'BAM' || format === 'CRAM';
    const decoded = reads
      ? execFileSync('samtools', ['view', '-b', '-T', 'reference.fa', data], { cwd: folder, stdio: 'pipe' })
      : execFileSync('bcftools', ['view', '-O', 'z', data], { cwd: folder, stdio: 'pipe' });
    expect(digest(within(recordsOf(reads ? 'BAM' : 'VCF', decoded), regions))).toEqual(answers[data]![text]);
  }
});
