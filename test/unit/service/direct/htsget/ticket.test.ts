import { expect, test } from 'vitest';
import { segmentParts } from '../../../../../lib/service/direct/htsget/encrypted-ticket.ts';
import { indexNames } from '../../../../../lib/service/direct/htsget/named-file.ts';

test('parts of segments have each byte of the ranges once', () => {
  const reader = 'ab'.repeat(32);
  const mebibyte = 2 ** 20;
  const ranges = [
    { start: 0, end: 65_564 },
    { start: 10 * 65_564, end: 10 * 65_564 + 6 * mebibyte },
  ];
  // 79 segments of 65,564 bytes are the most below 5 MiB.
  const second = 10 * 65_564 + 79 * 65_564;
  expect(segmentParts(ranges, reader, 5 * mebibyte).map((piece) => 'form' in piece && piece.form)).toEqual([
    { kind: 'segments', start: 0, end: 65_564, reader },
    { kind: 'segments', start: 10 * 65_564, end: second, reader },
    { kind: 'segments', start: second, end: 10 * 65_564 + 6 * mebibyte, reader },
  ]);
});

test('the names of an index follow from that of its data file, plain or encrypted', () => {
  const of = (path: string) =>
    indexNames
      .filter(({ ending }) => path.toLowerCase().endsWith(ending))
      .map(({ drop, add }) => path.slice(0, path.length - drop) + add);
  const indexes = ['a/X.BAM.bai', 'a/X.bai', 'a/X.BAM.csi', 'a/X.csi'].flatMap((name) => [name, `${name}.c4gh`]);
  expect(of('a/X.BAM')).toEqual(indexes);
  expect(of('a/X.BAM.c4gh')).toEqual(indexes);
  expect(of('y.vcf.gz.c4gh').slice(0, 4)).toEqual(['y.vcf.gz.tbi', 'y.vcf.gz.tbi.c4gh', 'y.tbi', 'y.tbi.c4gh']);
});
