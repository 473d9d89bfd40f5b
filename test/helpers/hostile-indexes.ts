/** Indexes and headers that were made to be dear: `node hostile-indexes.ts make|read SHAPE FILE`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import {
  type FileHead,
  type Region,
  readHead,
  readIndex,
  splitter,
  virtualRangesOf,
  wholeBlockRanges,
} from '../../lib/regions/index.ts';
import { bgzf, memory, streamed, words } from './region-files.ts';

/** What one answer took, and how it ended. */
export interface Taken {
  readonly processorSeconds: number;
  /** Beyond what the process had before. */
  readonly megabytes: number;
  readonly fileBytes: number;
  /** The error; `undefined` for an answer. */
  readonly refusal: string | undefined;
}

/** As many regions as a request may have, each of another reference or all of the first, behind each other. */
const regionCount = 1000;
const names = Array.from({ length: regionCount }, (_, number) => `chr${number}`);
const eachName: readonly Region[] = names.map((referenceName) => ({ referenceName }));
const oneName: readonly Region[] = names.map((_, number) => ({
  referenceName: 'chr0',
  start: 2 ** 29 - 1000 * (number + 1),
  end: 2 ** 29 - 1000 * (number + 1) + 10,
}));

function headOf(format: FileHead['format']): FileHead {
  const references = names.map((name) => ({ name }));
  return {
    format,
    references,
    bytes: Buffer.alloc(100),
    end: { block: 100, within: 0 },
    size: 2 ** 36,
    memoryBytes: 100,
  };
}

/** Lines of a CRAI that name `count` containers. */
const crai = (count: number, line: (container: number) => string) =>
  gzipSync(Array.from({ length: count }, (_, at) => line(1000 + at * 10)).join(''));

const baiOf = (...pieces: readonly Buffer[]) => gzipSync(Buffer.concat([Buffer.from('BAI\x01'), ...pieces]));

/** A file, and what a request does with it. */
interface Shape {
  readonly make: () => Buffer;
  readonly read: (file: Buffer) => Promise<unknown>;
}

/** An index, with regions that are asked for: each name once, or many regions of one name. */
function index(format: FileHead['format'], make: () => Buffer, regions: readonly Region[] = eachName): Shape {
  const read = async (file: Buffer) => {
    const head = headOf(format);
    const opened = await readIndex(streamed(file), { dataBytes: 2 ** 20 });
    const ranges = virtualRangesOf(opened, head, regions);
    splitter(ranges, opened)(64 * 2 ** 20);
    const source = {
      size: head.size,
      read: async (start: number, end: number) => Buffer.alloc(end - start),
      stream: () => streamed(Buffer.alloc(0)),
    };
    await wholeBlockRanges({ source, head, index: opened }, ranges, { most: 10 });
  };
  return { make, read };
}

const header = (format: FileHead['format'], make: () => Buffer): Shape => ({
  make: () => bgzf(make()).bytes,
  read: (file) => readHead(memory(file), format),
});

/** Entries of 64-bit words, one after the other. */
function entries(count: number, of: (at: number) => readonly [first: bigint, ...rest: bigint[]]): Buffer {
  const length = of(0).length;
  const values = new BigUint64Array(count * length);
  for (let at = 0; at < count; at += 1) values.set(of(at), at * length);
  return Buffer.from(values.buffer);
}

/** A virtual offset. */
const place = (block: number, within = 0) => BigInt(block) * 65_536n + BigInt(within);
const ofOneBin = (count: number, chunk: (at: number) => readonly [bigint, bigint]) =>
  baiOf(words(1, 1, 0, count), entries(count, chunk), words(0));

const shapes: Readonly<Record<string, Shape>> = {
  'CRAI of slices with several references': index('CRAM', () =>
    crai(1_000_000, (container) => `-2\t0\t0\t${container}\t1\t1\n`),
  ),
  'CRAI of slices that lie over each other': index(
    'CRAM',
    () => crai(1_000_000, (container) => `0\t1\t2147483647\t${container}\t1\t1\n`),
    oneName,
  ),
  'CRAI of blank lines': index('CRAM', () =>
    gzipSync(Buffer.concat([Buffer.from('0\t1\t10\t1000\t1\t1\n'), Buffer.alloc(24 * 2 ** 20, '\n')])),
  ),
  'BAI of empty windows': index('BAM', () => baiOf(words(1, 0, 3_500_000), Buffer.alloc(3_500_000 * 8)), oneName),
  'BAI of empty references': index('BAM', () => baiOf(words(3_500_000), Buffer.alloc(3_500_000 * 8))),
  'BAI of bins': index(
    'BAM',
    () => {
      const bins = entries(1_300_000, (at) => [BigInt(at % 37_449) + 2n ** 32n, place(1000 + at), place(1001 + at)]);
      return baiOf(words(1, 1_300_000), bins, words(0));
    },
    oneName,
  ),
  'BAI of chunks that lie over each other': index('BAM', () =>
    ofOneBin(1_900_000, () => [place(1000), place(2 ** 35)]),
  ),
  'BAI of chunks apart': index('BAM', () =>
    ofOneBin(1_900_000, (at) => [place(1000 + at * 100), place(1000 + at * 100, 1)]),
  ),
  'VCF of short lines': header('VCF', () =>
    Buffer.concat([Buffer.from('##fileformat=VCFv4.3\n'), Buffer.alloc(2 ** 25 - 1000, '#\n')]),
  ),
  'BCF of short lines': header('BCF', () =>
    Buffer.concat([Buffer.from('BCF\x02\x02'), words(2 ** 25 - 1000), Buffer.alloc(2 ** 25 - 1000, '\n')]),
  ),
};

export const shapeNames = Object.keys(shapes);

/** @param action `make` writes the file, `read` answers from it */
async function main(action: string, name: string, path: string): Promise<void> {
  const shape = shapes[name];
  if (!shape) throw new Error(`there is no shape ${name}`);
  if (action === 'make') return writeFileSync(path, shape.make());
  const file = readFileSync(path);
  const before = { memory: process.memoryUsage.rss(), cpu: process.cpuUsage() };
  const refusal = await shape.read(file).then(
    () => undefined,
    (error: unknown) => String(error),
  );
  const { user, system } = process.cpuUsage(before.cpu);
  const taken: Taken = {
    processorSeconds: (user + system) / 1e6,
    megabytes: (process.resourceUsage().maxRSS * 1024 - before.memory) / 1e6,
    fileBytes: file.length,
    refusal,
  };
  process.stdout.write(JSON.stringify(taken));
}

if (import.meta.main) await main(...(process.argv.slice(2) as [string, string, string]));
