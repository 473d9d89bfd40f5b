import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { findReference } from '../test/helpers/reference.ts';
import { cipherSpeed } from './cipher-speed.ts';
import { commands } from './crypt4gh-commands.ts';
import type { JobResult } from './crypt4gh-job.ts';
import { figure, median, type Report, ratio } from './report.ts';

const run = promisify(execFile);
const mib = 2 ** 20;
/** MiB of plaintext: `CRYPT4GH_BENCH_MIB`, default 1 GiB. */
const fileMiB = Number(process.env.CRYPT4GH_BENCH_MIB ?? 1024);
const rounds = 3;
const fileRounds = 7;
const rangeCount = 200;
const headerSeconds = '2';

/** Runs one job of one side in its own process. */
type Side = (job: string, ...parameters: readonly string[]) => Promise<JobResult>;

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The job and the file of its threads as JavaScript, as in the package. Stripping types would take memory. */
async function bundled(folder: string): Promise<string> {
  await build({
    entryPoints: [here('crypt4gh-job.ts'), here('../lib/crypt4gh/threads/segment-worker.ts')],
    entryNames: '[name]',
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  return join(folder, 'crypt4gh-job.mjs');
}

function side(program: string, path: string): Side {
  return async (...parameters) => JSON.parse((await run(program, [path, ...parameters])).stdout) as JobResult;
}

/** Lines of the table. Each is compared with the reference, which has one thread only. */
const fileJobs = [
  { name: 'encrypt, one thread', job: 'encrypt', threads: '1' },
  { name: 'encrypt, two threads', job: 'encrypt', threads: '2' },
  { name: 'encrypt, two threads, Node streams', job: 'encrypt', threads: '2', streams: true },
  { name: 'decrypt, one thread', job: 'decrypt', threads: '1' },
  { name: 'decrypt, two threads', job: 'decrypt', threads: '2' },
  { name: 'decrypt, two threads, Node streams', job: 'decrypt', threads: '2', streams: true },
];

/**
 * `npm run bench crypt4gh`: files and headers, side by side with the Python reference in the same run, and the speed of
 * the cipher alone as OpenSSL measures it.
 */
export default async function crypt4gh(report: Report): Promise<void> {
  const reference = await findReference();
  const theirs = 'python' in reference ? side(reference.python, here('crypt4gh_reference.py')) : undefined;
  if ('missing' in reference) report.text(`The Python reference is left out: ${reference.missing}.`);
  const bytesPerSecond = await cipherSpeed();
  const limit = bytesPerSecond === undefined ? undefined : bytesPerSecond / mib;
  if (limit === undefined) report.text('The limit is left out: there is no `openssl` on this machine.');

  const folder = await mkdtemp(join(tmpdir(), 'crypt4gh-bench-'));
  try {
    const ours = side(process.execPath, await bundled(folder));
    await files(report, { folder, ours, theirs, limit });
    await headers(report, ours, theirs);
    await commands(report, { folder, python: 'python' in reference ? reference.python : undefined, fileMiB, limit });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function files(
  report: Report,
  options: {
    readonly folder: string;
    readonly ours: Side;
    readonly theirs: Side | undefined;
    readonly limit: number | undefined;
  },
): Promise<void> {
  const { folder, ours, theirs, limit } = options;
  const key = randomBytes(32).toString('hex');
  const [plain, container, output] = ['plain', 'container', 'output'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeRandom(plain);
  await ours('encrypt', key, plain, container);

  // With files of this size the machine's memory and disk count, and they only make a run slower.
  const speed = (results: readonly JobResult[]) => fileMiB / Math.min(...results.map(({ seconds }) => seconds));
  const rows: string[][] = [];
  const add = (name: string, results: readonly JobResult[], others: readonly JobResult[]) => {
    const mibPerSecond = speed(results);
    rows.push([
      name,
      figure(mibPerSecond),
      others.length === 0 ? '' : figure(speed(others)),
      others.length === 0 ? '' : ratio(mibPerSecond, speed(others)),
      limit === undefined ? '' : `${figure((100 * mibPerSecond) / limit)} %`,
      peakMiB(results),
      others.length === 0 ? '' : peakMiB(others),
    ]);
  };
  for (const { name, job, threads, streams = false } of fileJobs) {
    const source = job === 'encrypt' ? plain : container;
    const results: JobResult[] = [];
    const others: JobResult[] = [];
    const us = async () => results.push(await ours(streams ? `${job}-stream` : job, key, source, output, threads));
    const them = async () => {
      if (theirs !== undefined) others.push(await theirs(job, key, source, output));
    };
    for (let round = 0; round < fileRounds; round += 1) {
      // In turn, so that other work of the machine meets both. They also take turns to be first, because a run finds the
      // machine's memory as the run before has left it.
      for (const run of round % 2 === 0 ? [us, them] : [them, us]) {
        await run();
        await rm(output, { force: true });
      }
    }
    add(name, results, others);
  }
  const ranges = await ours('ranges', key, container, String(rangeCount));
  add(
    `${rangeCount} random ranges of 1 MiB`,
    [{ ...ranges, seconds: (ranges.seconds * fileMiB) / rangeCount }],
    // The reference is not a yardstick for ranges: from the second segment on its --range returns other bytes.
    [],
  );
  report.text(
    `A file of ${fileMiB} MiB, file to a new file: the fastest of ${fileRounds} runs in turn, of the ranges the only one.`,
  );
  report.table(['', 'MiB/s', 'reference', 'ratio', 'of the cipher alone', 'peak MiB', 'reference peak MiB'], rows);
  if (limit !== undefined) report.text(`The cipher alone (openssl speed, one thread): ${figure(limit)} MiB/s.`);
}

/** A submission mostly has one writer. If a tool makes a key for each file, an archive has as many writers as files. */
const headerJobs = [
  { name: 'of one writer', writers: '1' },
  { name: 'each of another writer', writers: '2000' },
] as const;

async function headers(report: Report, ours: Side, theirs: Side | undefined): Promise<void> {
  const perSecond = ({ done = 0, cpu }: JobResult) => done / cpu;
  const rows: string[][] = [];
  for (const { name, writers } of headerJobs) {
    const results: number[] = [];
    const others: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      results.push(perSecond(await ours('headers', headerSeconds, writers)));
      if (theirs !== undefined) others.push(perSecond(await theirs('headers', headerSeconds, writers)));
    }
    const reference = others.length === 0 ? ['', ''] : [figure(median(others)), ratio(median(results), median(others))];
    rows.push([name, figure(median(results)), ...reference]);
  }
  report.text(
    `Headers of one packet, rebuilt for one recipient, in a second of processor time; the middle one of ${rounds} runs.`,
  );
  report.table(['headers re-encrypted', 'a second', 'reference', 'ratio'], rows);
}

function peakMiB(results: readonly JobResult[]): string {
  return figure(Math.max(...results.map(({ peakBytes }) => peakBytes)) / mib);
}

async function writeRandom(path: string): Promise<void> {
  await using file = await open(path, 'w');
  const piece = randomBytes(mib);
  for (let written = 0; written < fileMiB; written += 1) {
    piece.writeUInt32LE(written);
    await file.write(piece);
  }
}
