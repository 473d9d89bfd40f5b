import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { InstalledClient } from '../test/helpers/installed-client.ts';
import { peakOf } from '../test/helpers/peak-of.ts';
import { RangeServer, type ServedFile } from '../test/helpers/range-server.ts';
import { atLeast, atMost, figure, median, type Report, ratio } from './report.ts';

const mebibyte = 2 ** 20;
const largeBytes = Number(process.env.BENCH_CLIENT_MIB ?? 2048) * mebibyte;
const smallCount = Number(process.env.BENCH_CLIENT_FILES ?? 1000);
const rounds = Number(process.env.BENCH_CLIENT_ROUNDS ?? 5);
/** Networks as researchers have them. */
const lines = [1, 2.5].map((gigabits) => ({
  name: `${gigabits} Gbit/s, 10 ms`,
  delayMs: 10,
  bitsPerSecond: gigabits * 1e9,
}));
const loopback = { name: 'loopback, for information', delayMs: 0 };

const largeFile: ServedFile = {
  name: 'large.c4gh',
  size: largeBytes,
  repeat: Buffer.alloc(mebibyte + 4093, 'data-out ').toString('base64'),
};
const smallFiles = Array.from({ length: smallCount }, (_, index): ServedFile => {
  return { name: `EGAF${String(index).padStart(11, '0')}.c4gh`, size: 4096, repeat: 'AAECAwQFBgc=' };
});

/** A program that downloads the named files into its working folder. */
interface Downloader {
  readonly name: string;
  readonly command: (url: string, files: readonly ServedFile[]) => Promise<readonly string[]>;
}

interface Run {
  readonly seconds: number;
  readonly processorSeconds: number;
  /** Bytes; `undefined` where the system does not tell. */
  readonly peak: number | undefined;
}

/**
 * Downloads beside other programs, which get the same bytes from the same server in the same run. `data-out` waits until its files
 * are on the disk, so the others are followed by `sync`.
 */
export default async function clientSuite(report: Report): Promise<void> {
  const client = await InstalledClient.install(process.env.BENCH_CLIENT_FOLDER);
  try {
    const others = await available(client.root);
    if (others.length === 0) throw new Error('there is no program to compare with: install curl, aria2c or rclone');
    const all = [ourselves(client), ...others];
    for (const line of [...lines, loopback]) {
      for (const files of [[largeFile], smallFiles]) {
        const server = await RangeServer.start(files, line);
        try {
          present(report, line, files, await inTurn(all, { client, server, files }));
        } finally {
          server.stop();
        }
      }
    }
  } finally {
    await client.remove();
  }
}

type Results = ReadonlyMap<string, readonly Run[]>;

function present(report: Report, line: { readonly name: string }, files: readonly ServedFile[], results: Results) {
  const isLarge = files.length === 1;
  const what = `${isLarge ? `one file of ${largeBytes / mebibyte} MiB` : `${smallCount} files of 4 KiB`}, ${line.name}`;
  const of = (name: string, field: 'seconds' | 'processorSeconds') =>
    median((results.get(name) ?? []).map((run) => run[field]));
  const names = [...results.keys()];
  const best = Math.min(...names.filter((name) => name !== 'data-out').map((name) => of(name, 'seconds')));
  const peakOfName = (name: string) => Math.max(...(results.get(name) ?? []).map(({ peak = Number.NaN }) => peak));
  report.table(
    [what, 'seconds', 'of the best other', 'processor seconds', 'peak MiB'],
    names.map((name) => [
      name,
      figure(of(name, 'seconds')),
      ratio(best, of(name, 'seconds')),
      figure(of(name, 'processorSeconds')),
      figure(peakOfName(name) / mebibyte),
    ]),
  );
  if (line === loopback) return;
  const speed = best / of('data-out', 'seconds');
  report.headline({
    what: `${what}: speed, of the best other`,
    value: ratio(speed, 1),
    target: atLeast(speed, isLarge ? 0.97 : 1, ' ×'),
  });
  if (!isLarge || line !== lines.at(-1)) return;
  const reference = of(curlAndSum, 'processorSeconds');
  const processor = of('data-out', 'processorSeconds') / reference;
  if (!Number.isNaN(reference))
    report.headline({
      what: `${what}: processor time with verification, of ${curlAndSum}`,
      value: ratio(processor, 1),
      target: atMost(processor, 1.5, ' ×'),
    });
  const peak = peakOfName('data-out') / mebibyte;
  report.headline({ what: `${what}: peak memory`, value: `${figure(peak)} MiB`, target: atMost(peak, 300, ' MiB') });
}

interface Bout {
  readonly client: InstalledClient;
  readonly server: RangeServer;
  readonly files: readonly ServedFile[];
}

/** Each in turn, several times, so that other work of the machine meets all of them. */
async function inTurn(downloaders: readonly Downloader[], bout: Bout): Promise<Results> {
  const all = new Map(downloaders.map(({ name }): [string, Run[]] => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const downloader of downloaders) all.get(downloader.name)?.push(await run(downloader, bout));
  }
  return all;
}

/** @throws Error when the program fails or not all files exist */
async function run({ name, command }: Downloader, { client, server, files }: Bout): Promise<Run> {
  const folder = join(client.root, 'downloaded');
  await mkdir(folder);
  try {
    const [program = '', ...args] = await command(server.url, files);
    const started = performance.now();
    const env = { PATH: process.env.PATH ?? '', ...client.env(server.url) };
    const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(child, 'close') as Promise<[number | null]>;
    const [said, [exitCode], peak, processorSeconds] = await Promise.all([
      text(child.stderr),
      ended,
      peakOf(child, ended),
      processorSecondsOf(child, ended),
    ]);
    const seconds = (performance.now() - started) / 1000;
    const there = (await readdir(folder)).length;
    // The server has no receipts, so `data-out` computes each CRC, compares it with nothing, and ends with 10.
    const isWhole = exitCode === (name === 'data-out' ? 10 : 0) && there === files.length;
    if (!isWhole) throw new Error(`${name}: ${exitCode}, ${there} files: ${said}`);
    return { seconds, processorSeconds, peak };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Of a process and the children that it has waited for, until a moment before it ends (proc_pid_stat(5), fields 14–17). */
async function processorSecondsOf({ pid }: ChildProcess, ended: Promise<unknown>): Promise<number> {
  let ticks = Number.NaN;
  const timer = setInterval(() => {
    try {
      const [, fields = ''] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? [];
      ticks = fields
        .split(' ')
        .slice(11, 15)
        .reduce((sum, field) => sum + Number(field), 0);
    } catch {
      // It has ended, or this is not Linux.
    }
  }, 10);
  await ended;
  clearInterval(timer);
  return ticks / 100;
}

function ourselves(client: InstalledClient): Downloader {
  const argv = [process.execPath, client.script, '--quiet', 'download', '--all', '-o', '.'];
  return { name: 'data-out', command: async () => argv };
}

const curlAndSum = 'curl, then sha256sum';

/** The other programs that are installed. Each follows the proxy's redirection for each file, as its users do. */
async function available(root: string): Promise<readonly Downloader[]> {
  const list = join(root, 'list');
  const written = async (lines: readonly string[]) => await writeFile(list, `${lines.join('\n')}\n`);
  const curl = async (url: string, files: readonly ServedFile[]) => {
    await written(files.map(({ name }) => `url = "${url}stream/${name}"\noutput = "${name}"`));
    return ['curl', '--silent', '--show-error', '--fail', '--location', '--config', list];
  };
  const then = (line: string, argv: readonly string[]) => ['sh', '-c', `"$@" && ${line}`, 'sh', ...argv];
  const sync = 'find . -type f -exec sync {} +';
  const all: readonly Downloader[] = [
    { name: 'curl', command: async (url, files) => then(sync, await curl(url, files)) },
    { name: curlAndSum, command: async (url, files) => then(`sha256sum * && ${sync}`, await curl(url, files)) },
    {
      name: 'aria2c',
      async command(url, files) {
        await written(files.map(({ name }) => `${url}stream/${name}\n  out=${name}`));
        const parallel = ['--split=4', '--max-connection-per-server=16', '--max-concurrent-downloads=8'];
        return then(sync, ['aria2c', '--quiet', ...parallel, `--input-file=${list}`]);
      },
    },
    {
      name: 'rclone',
      async command(url, files) {
        const [first] = files;
        if (files.length === 1 && first) {
          const address = `${url}stream/${first.name}`;
          return then(sync, ['rclone', 'copyurl', '--multi-thread-streams=4', address, first.name]);
        }
        await written(files.map(({ name }) => name));
        const source = [`--http-url=${url}stream/`, '--no-traverse', '--transfers=8', '--files-from-raw', list];
        return then(sync, ['rclone', 'copy', ...source, ':http:', '.']);
      },
    },
  ];
  const found = await Promise.all(all.map(async (one) => ((await isInstalled(one.name)) ? [one] : [])));
  return found.flat();
}

async function isInstalled(name: string): Promise<boolean> {
  const child = spawn(name.split(',')[0] ?? '', ['--version'], { stdio: 'ignore' });
  return await new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}
