import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DataFormat } from '../../lib/regions/index.ts';
import { tools } from './region-tools.ts';

const byHtsjdk: Genome = { data: 'htsjdk.bam', index: 'htsjdk.bai', kind: 'reads', format: 'BAM' };
const byHtslib: readonly Genome[] = [
  { data: 'bai.bam', index: 'bai.bam.bai', kind: 'reads', format: 'BAM' },
  { data: 'csi.bam', index: 'csi.bam.csi', kind: 'reads', format: 'BAM' },
  // Plain bgzip cuts anywhere: records span blocks, and the header shares one with them, as in files of htsjdk.
  { data: 'spanning.bam', index: 'spanning.bam.bai', kind: 'reads', format: 'BAM' },
  { data: 'reads.cram', index: 'reads.cram.crai', kind: 'reads', format: 'CRAM' },
  { data: 'tbi.vcf.gz', index: 'tbi.vcf.gz.tbi', kind: 'variants', format: 'VCF' },
  { data: 'csi.vcf.gz', index: 'csi.vcf.gz.csi', kind: 'variants', format: 'VCF' },
  { data: 'calls.bcf', index: 'calls.bcf.csi', kind: 'variants', format: 'BCF' },
];

/** A data file with its index. */
export interface Genome {
  readonly data: string;
  readonly index: string;
  readonly kind: 'reads' | 'variants';
  readonly format: DataFormat;
}

/** Data files of {@link makeGenomes}, each with the index that the archive has beside it. */
export const genomes: readonly Genome[] = tools.htsjdk ? [...byHtslib, byHtsjdk] : byHtslib;

export interface Reference {
  readonly name: string;
  /** Bases. */
  readonly length: number;
  readonly reads: number;
}

const references: readonly Reference[] = [
  { name: 'chr1', length: 1_000_000, reads: 100_000 },
  { name: 'chr2', length: 200_000, reads: 20_000 },
  { name: 'chrM', length: 16_569, reads: 2_000 },
];
const unplacedReads = 500;
const readLength = 100;

/** 1-based and inclusive, as samtools and bcftools write them. */
export const regions = [
  'chr1:1-100',
  'chr1:500001-600000',
  'chr1:999901-1000000',
  'chr2:1-200000',
  'chr2:150001-150001',
  'chrM:1-16569',
] as const;

/** Reads and variants that are the same each time, in every format, written and indexed by htslib's own tools. */
export async function makeGenomes(folder: string): Promise<void> {
  await writeFile(join(folder, 'reads.sam'), reads(references));
  await writeFile(join(folder, 'calls.vcf'), variants());
  await shell(
    folder,
    `samtools view -b -o bai.bam reads.sam && samtools index bai.bam
     cp bai.bam csi.bam && samtools index -c csi.bam
     bgzip -dc bai.bam | bgzip -c > spanning.bam && samtools index spanning.bam
     samtools view -C --output-fmt-option no_ref=1 --output-fmt-option seqs_per_slice=2000 -o reads.cram reads.sam && samtools index reads.cram
     bgzip -c calls.vcf > tbi.vcf.gz && tabix -p vcf tbi.vcf.gz
     cp tbi.vcf.gz csi.vcf.gz && bcftools index -c csi.vcf.gz
     bcftools view -O b -o calls.bcf calls.vcf && bcftools index -c calls.bcf`,
  );
  if (tools.htsjdk) await htsjdk(folder, `write reads.sam ${byHtsjdk.data}`);
}

const known = new Map<string, Promise<string>>();

/** SHA-256 of the records of a region, as the tool of the format prints them. `file` is indexed first if it has no index. */
export function recordsOf(folder: string, file: string, genome: Genome, region: string): Promise<string> {
  if (file !== genome.data) return printed(folder, file, genome, region);
  // A genome does not change.
  const name = join(folder, file, region);
  const records = known.get(name) ?? printed(folder, file, genome, region);
  known.set(name, records);
  return records;
}

async function printed(folder: string, file: string, { kind }: Genome, region: string): Promise<string> {
  const [index, view] =
    kind === 'reads' ? ['samtools index', 'samtools view'] : ['bcftools index -f', 'bcftools view -H'];
  const hasIndex = genomes.some(({ data }) => data === file);
  const stdout = await shell(
    folder,
    `${hasIndex ? '' : `${index} ${file} && `}${view} ${file} ${kind === 'variants' ? `-r ${region}` : `'${region}'`}`,
  );
  return `${stdout.split('\n').length - 1} records, ${createHash('sha256').update(stdout).digest('hex')}`;
}

/** What a command line prints. @throws Error with its standard error, when one of its commands fails */
export async function shell(
  cwd: string,
  commands: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], {
    cwd,
    env: { ...process.env, ...env },
    maxBuffer: 1024 ** 3,
  });
  return stdout;
}

/** What `Regions.java` prints. */
export async function htsjdk(folder: string, command: string): Promise<string> {
  return await shell(folder, `java -cp '${tools.htsjdk}' Regions ${command}`);
}

/** Seeded reads in SAM, ordered by coordinate, with some that have no place at the end. Line by line. */
export function* reads(of: readonly Reference[]): Generator<string> {
  const random = generator(27);
  yield '@HD\tVN:1.6\tSO:coordinate\n';
  for (const { name, length } of of) yield `@SQ\tSN:${name}\tLN:${length}\n`;
  yield '@RG\tID:rg\tSM:sample\n';
  for (const { name, length, reads: count } of of) {
    const last = length - readLength + 1;
    const starts = Float64Array.from({ length: count }, () => 1 + random(last));
    // The first read begins with its reference, and the last one ends with it.
    starts[0] = 1;
    starts[1] = last;
    for (const [at, start] of starts.sort().entries()) {
      yield `${name}.${at}\t0\t${name}\t${start}\t60\t${readLength}M\t*\t0\t0\t${letters(random)}\n`;
    }
  }
  for (let at = 0; at < unplacedReads; at++) yield `unplaced.${at}\t4\t*\t0\t0\t*\t*\t0\t0\t${letters(random)}\n`;
}

/** Bases and their qualities. */
function letters(random: (below: number) => number): string {
  let bases = '';
  let qualities = '';
  for (let at = 0; at < readLength; at++) {
    bases += 'ACGT'[random(4)];
    qualities += '5:?DIF'[random(6)];
  }
  return `${bases}\t${qualities}`;
}

function variants(): string {
  const random = generator(28);
  const lines = [
    '##fileformat=VCFv4.3',
    ...references.map(({ name, length }) => `##contig=<ID=${name},length=${length}>`),
    '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">',
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
    '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tsample',
  ];
  for (const { name, length, reads: count } of references) {
    const positions = new Set(Array.from({ length: count / 4 }, () => 1 + random(length))).add(1).add(length);
    for (const position of [...positions].sort((one, other) => one - other)) {
      lines.push(`${name}\t${position}\t.\tA\tG\t${random(1000)}\tPASS\tDP=${random(500)}\tGT\t0/${random(2)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** A xorshift generator (Marsaglia 2003, shifts 13, 17 and 5). @returns an integer in [0, below) */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return Math.floor(((state >>> 0) / 2 ** 32) * below);
  };
}
