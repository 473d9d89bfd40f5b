/** Formats of reads (BAM, CRAM) and of variants (VCF compressed by BGZF, BCF). */
export type DataFormat = 'BAM' | 'CRAM' | 'VCF' | 'BCF';

const suffixes: readonly (readonly [suffix: string, format: DataFormat, indexes: readonly string[]])[] = [
  ['.bam', 'BAM', ['.bai', '.csi']],
  ['.cram', 'CRAM', ['.crai']],
  ['.vcf.gz', 'VCF', ['.tbi', '.csi']],
  ['.vcf.bgz', 'VCF', ['.tbi', '.csi']],
  ['.bcf', 'BCF', ['.csi']],
];

/** Endings of the names of data files, in lower case. */
export const fileSuffixes: readonly string[] = suffixes.map(([suffix]) => suffix);

/** Tells the format by the file's name, in any case; a trailing `.c4gh` is ignored. Undefined for other names. */
export function formatOf(path: string): DataFormat | undefined {
  return kindOf(path)?.[1];
}

/**
 * Paths under which the index of a data file can lie, the preferred first: `x.bam.bai`, `x.bai`, `x.bam.csi`, `x.csi`,
 * each followed by its encrypted form (`.c4gh`). Empty if the name shows no format.
 */
export function indexPathsOf(path: string): readonly string[] {
  const kind = kindOf(path);
  if (!kind) return [];
  const whole = withoutEncryption(path);
  const stem = whole.slice(0, -kind[0].length);
  return kind[2].flatMap((index) => [whole + index, stem + index]).flatMap((name) => [name, `${name}.c4gh`]);
}

/**
 * What ends a complete file: the empty BGZF block (SAMv1 § 4.1.2), or the EOF container (CRAM 3.0 § 9).
 * A ticket of regions ends with it.
 */
export const endMarkers: Readonly<Record<DataFormat, Uint8Array>> = (() => {
  const bgzf = Buffer.from('1f8b08040000000000ff0600424302001b0003000000000000000000', 'hex');
  const cram = Buffer.from('0f000000ffffffff0fe0454f4600000000010005bdd94f0001000606010001000100ee63014b', 'hex');
  return { BAM: bgzf, VCF: bgzf, BCF: bgzf, CRAM: cram };
})();

function kindOf(path: string) {
  const name = withoutEncryption(path).toLowerCase();
  return suffixes.find(([suffix]) => name.endsWith(suffix) && name.length > suffix.length);
}

function withoutEncryption(path: string): string {
  return path.replace(/\.c4gh$/i, '');
}
