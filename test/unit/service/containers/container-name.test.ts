import { expect, test } from 'vitest';
import { outboxFileName } from '../../../../lib/service/containers/container-name.ts';

test.each([
  ['sample.bam', 'EGAF00000000001-sample.bam.c4gh'],
  ['dir/sub/sample.bam.c4gh', 'EGAF00000000001-sample.bam.c4gh'],
  ['C:\\data\\sample.BAM.C4GH', 'EGAF00000000001-sample.BAM.c4gh'],
  ['a b+c%2F&.txt', 'EGAF00000000001-a_b_c_2F_.txt.c4gh'],
  ['.bashrc', 'EGAF00000000001-_bashrc.c4gh'],
  ['..', 'EGAF00000000001-__.c4gh'],
  ['../../etc/passwd', 'EGAF00000000001-passwd.c4gh'],
  ['x/.c4gh', 'EGAF00000000001.c4gh'],
  ['', 'EGAF00000000001.c4gh'],
  // One letter, whether typed as one code point or as two (NFC); a character outside the BMP is one `_`.
  ['\u00e9.vcf', 'EGAF00000000001-_.vcf.c4gh'],
  ['e\u0301.vcf', 'EGAF00000000001-_.vcf.c4gh'],
  ['\u{1f9ec}.vcf', 'EGAF00000000001-_.vcf.c4gh'],
  ['nul\u0000line\nend', 'EGAF00000000001-nul_line_end.c4gh'],
])('the base name of %j is made safe', (path, name) => {
  expect(outboxFileName('EGAF00000000001', path)).toBe(name);
});

test('a long base name is cut in the middle and keeps its ending', () => {
  const name = outboxFileName('EGAF00000000001', `${'a'.repeat(400)}.chr22.vcf.gz`);
  expect(name).toHaveLength(255);
  expect(name).toMatch(/^EGAF00000000001-a+\.chr22\.vcf\.gz\.c4gh$/);
});

test.each([
  // A hyphen in an id cannot be taken for the one that ends it.
  ['EGAF1', '2-x', 'EGAF1-2-x.c4gh'],
  ['EGAF1-2', 'x', 'EGAF1_2d2-x.c4gh'],
  ['a/b', 'x', 'a_2fb-x.c4gh'],
  ['a_b', 'x', 'a_5fb-x.c4gh'],
  ['.', 'x', '_2e-x.c4gh'],
  ['\u00e9', 'x', '_c3_a9-x.c4gh'],
  // Windows would take these for devices.
  ['CON', '', '_43ON.c4gh'],
  ['CONSOLE', '', 'CONSOLE.c4gh'],
])('the id %j with base name %j: ids of odd characters stay apart', (id, path, name) => {
  expect(outboxFileName(id, path)).toBe(name);
});

test('an id too long to be spelt out is replaced by its SHA-256', () => {
  // printf 'a%.0s' {1..129} | sha256sum
  expect(outboxFileName('a'.repeat(129), 'x')).toBe(
    '__c12cb024a2e5551cca0e08fce8f1c5e314555cc3fef6329ee994a3db752166ae-x.c4gh',
  );
});
