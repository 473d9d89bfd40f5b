import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { access, mkdtemp, open, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildPackage } from '../bin/build/package.ts';
import { formatPrivateKey, formatPublicKey, generateKeyPair } from '../lib/crypt4gh/index.ts';
import { findReference } from '../test/helpers/reference.ts';
import { rebuiltHeaders } from './crypt4gh-headers.ts';
import { atLeast, figure, type Report, ratio } from './report.ts';

const run = promisify(execFile);
const mib = 2 ** 20;
/** MiB of plaintext. */
const fileMib = Number(process.env.CRYPT4GH_BENCH_MIB ?? 1024);
const pipeMib = 512;
const rounds = 5;
const python = 'Python';

/** A program with its commands as lines for a shell, in a folder that has `plain`, `container`, `key` and `public`. */
interface Program {
  readonly name: string;
  /** Standard input to standard output. */
  readonly pipe?: string;
  /** `container` to `output`. */
  readonly decrypt: string;
  /** `plain` to `output`. */
  readonly encrypt: string;
}

interface Row {
  readonly name: string;
  /** The line for a shell; `undefined`: the program has no such command. */
  readonly line: (program: Program) => string | undefined;
  /** How many times as fast, by the name of the other. */
  readonly goals: Readonly<Record<string, number>>;
}

const rows: readonly Row[] = [
  { name: 'decrypt, file to file', line: ({ decrypt }) => decrypt, goals: { [python]: 1.5, Go: 2, Rust: 2 } },
  { name: 'encrypt, file to file', line: ({ encrypt }) => encrypt, goals: { [python]: 1.5, Go: 2, Rust: 1 } },
  {
    name: `decrypt ${pipeMib} MiB between two pipes`,
    line: ({ pipe }) => pipe && `cat container-pipe | ${pipe} | cat > /dev/null`,
    goals: { [python]: 1 },
  },
];

/** The installed command and the headers that a function rebuilds, beside other implementations in the same run. */
export default async function crypt4gh(report: Report): Promise<void> {
  const reference = await findReference();
  const folder = await mkdtemp(join(tmpdir(), 'crypt4gh-bench-'));
  try {
    await writeRandom(join(folder, 'plain'));
    await commands(report, folder, 'python' in reference ? reference.python : undefined);
    if ('missing' in reference) report.text(`Headers are not compared: ${reference.missing}.`);
    else await headers(report, reference.python);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function commands(report: Report, folder: string, pythonPath: string | undefined): Promise<void> {
  const us = await ourselves(folder);
  const others = await installed(pythonPath);
  await shell(`head -c ${pipeMib}M plain > plain-pipe`, folder);
  await shell(`${us.encrypt.replace(/plain$/, 'plain-pipe')} && mv output container-pipe`, folder);
  await shell(`${us.encrypt} && mv output container`, folder);
  await symlink('container', join(folder, 'output.c4gh'));
  await symlink('plain', join(folder, 'output-plain'));
  for (const { name, line, goals } of rows) {
    const peers = others.filter((peer) => peer.name in goals && line(peer) !== undefined);
    const seconds = new Map<string, number>();
    for (let round = 0; round < rounds; round += 1) {
      // In turn, and each is first in turn, so that other work of the machine meets all of them.
      for (const program of round % 2 === 0 ? [us, ...peers] : [...peers, us]) {
        const took = await shell(line(program) ?? '', folder);
        seconds.set(program.name, Math.min(took, seconds.get(program.name) ?? Number.POSITIVE_INFINITY));
        for (const made of ['output', 'output-plain.c4gh']) await rm(join(folder, made), { force: true });
      }
    }
    const ours = seconds.get(us.name) ?? Number.NaN;
    report.table(
      [`${name}, the fastest of ${rounds}`, 'seconds'],
      [...seconds].map(([program, each]) => [program, figure(each)]),
    );
    for (const { name: other } of peers) {
      const faster = (seconds.get(other) ?? Number.NaN) / ours;
      const target = atLeast(faster, goals[other] ?? Number.NaN, ' ×');
      report.headline({ what: `${name}: speed, of ${other}`, value: ratio(faster, 1), target });
    }
    const missing = Object.keys(goals).filter((other) => !peers.some((peer) => peer.name === other));
    if (missing.length > 0) report.text(`Not compared, because they are not installed: ${missing.join(', ')}.`);
  }
}

/** The client as it is installed. It waits for the disk, so the others are followed by `sync`. */
async function ourselves(folder: string): Promise<Program> {
  await buildPackage(join(folder, 'package'));
  const pair = generateKeyPair();
  await writeFile(join(folder, 'key'), await formatPrivateKey(pair.privateKey), { mode: 0o600 });
  await writeFile(join(folder, 'public'), formatPublicKey(pair.publicKey));
  const program = `${process.execPath} package/bin/data-out.js --quiet`;
  return {
    name: 'data-out',
    pipe: `${program} decrypt --key key -`,
    decrypt: `${program} decrypt --key key -o output container`,
    encrypt: `${program} encrypt -r public -o output plain`,
  };
}

/** @param pythonPath of a Python that has the reference. `CRYPT4GH_PEERS` names the folder of the others. */
async function installed(pythonPath: string | undefined): Promise<readonly Program[]> {
  const folder = process.env.CRYPT4GH_PEERS ?? '';
  const reference = pythonPath === undefined ? '' : join(dirname(pythonPath), 'crypt4gh');
  const [go, rust] = [join(folder, 'crypt4gh-go'), join(folder, 'crypt4gh')];
  const known: readonly (Program & { readonly path: string })[] = [
    {
      path: reference,
      name: python,
      pipe: `${reference} decrypt --sk key`,
      decrypt: `${reference} decrypt --sk key < container > output && sync output`,
      encrypt: `${reference} encrypt --sk key --recipient_pk public < plain > output && sync output`,
    },
    // It names the output by its input.
    {
      path: go,
      name: 'Go',
      decrypt: `${go} decrypt -f output.c4gh -s key && sync output`,
      encrypt: `${go} encrypt -f output-plain -s key -p public && sync output-plain.c4gh`,
    },
    {
      path: rust,
      name: 'Rust',
      decrypt: `C4GH_PASSPHRASE= ${rust} decrypt --sk key < container > output && sync output`,
      encrypt: `C4GH_PASSPHRASE= ${rust} encrypt --sk key --recipient_pk public < plain > output && sync output`,
    },
  ];
  const isThere = async (path: string) =>
    await access(path).then(
      () => true,
      () => false,
    );
  const there = await Promise.all(known.map(({ path }) => isThere(path)));
  return known.filter((_, index) => there[index]);
}

/** A submission mostly has one writer. If a tool makes a key for each file, an archive has as many writers as files. */
async function headers(report: Report, pythonPath: string): Promise<void> {
  const script = fileURLToPath(new URL('crypt4gh_headers.py', import.meta.url));
  for (const [name, writers] of [
    ['of one writer', 1],
    ['each of another writer', 2000],
  ] as const) {
    const ours = rebuiltHeaders(writers);
    const theirs = Number((await run(pythonPath, [script, `${writers}`])).stdout);
    report.text(
      `Headers rebuilt in a second of processor time, ${name}: ${figure(ours)}, ${python} ${figure(theirs)}.`,
    );
    const target = atLeast(ours / theirs, 1, ' ×');
    report.headline({ what: `headers rebuilt, ${name}: of ${python}`, value: ratio(ours, theirs), target });
  }
}

/** @returns seconds. @throws Error if the line fails */
async function shell(line: string, folder: string): Promise<number> {
  const began = performance.now();
  await run('bash', ['-c', `set -o pipefail; ${line}`], { cwd: folder, env: { PATH: process.env.PATH, HOME: folder } });
  return (performance.now() - began) / 1000;
}

async function writeRandom(path: string): Promise<void> {
  await using file = await open(path, 'w');
  const piece = randomBytes(mib);
  for (let written = 0; written < fileMib; written += 1) {
    piece.writeUInt32LE(written);
    await file.write(piece);
  }
}
