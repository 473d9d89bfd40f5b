import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { exitCodes } from '../lib/terminal/exit-codes.ts';
import { InstalledClient } from '../test/helpers/installed-client.ts';
import { peakOf } from '../test/helpers/peak-of.ts';
import { RangeServer, type ServedFile } from '../test/helpers/range-server.ts';
import { type Parts, partNames } from './client-parts.ts';
import { figure, median, type Report, ratio, verdict } from './report.ts';

const mebibyte = 2 ** 20;
/** MiB of the large files, each measured alone. */
const largeSizes = (process.env.BENCH_CLIENT_MIB ?? '64,512,1024,2048').split(',').map(Number);
/** From this size on the goals for a large file apply: below it, the start decides. */
const goalMebibytes = 512;
const smallFiles = Number(process.env.BENCH_CLIENT_FILES ?? 1000);
const rounds = Number(process.env.BENCH_CLIENT_ROUNDS ?? 5);
const startTargetMs = 60;
/** A folder on a fresh file system. Default: none is measured. */
const freshFolder = process.env.BENCH_CLIENT_FRESH;
/** Milliseconds before each answer: none, and the least of a real network and service. */
const delays = [0, 10];

const repeat = Buffer.alloc(mebibyte + 4093, 'data-out ').toString('base64');

/** A program that downloads the named files into a folder. */
interface Downloader {
  readonly name: string;
  readonly command: (job: Job) => readonly string[] | Promise<readonly string[]>;
  readonly env?: Readonly<Record<string, string>>;
  /** The exit code when every file is whole; default: 0. */
  readonly whole?: number;
}

interface Job {
  readonly url: string;
  readonly files: readonly ServedFile[];
  readonly folder: string;
}

interface Measured {
  readonly seconds: number;
  readonly peak: number | undefined;
}

/**
 * The client beside other programs, which get the same bytes from the same server in the same run. The server answers
 * faster than the embedded S3 of the local engine, whose speed would otherwise be measured.
 */
export default async function clientSuite(report: Report): Promise<void> {
  const client = await InstalledClient.install(process.env.BENCH_CLIENT_FOLDER);
  try {
    const others = await available(client.root);
    for (const name of ['aria2c', 'rclone']) {
      if (!others.some((other) => other.name.startsWith(name))) report.text(`\`${name}\` is not installed here.`);
    }
    await starts(report, client, others);
    await large(report, client, others);
    await small(report, client, others);
  } finally {
    await client.remove();
  }
  if (freshFolder !== undefined) await onFreshDisk(report, freshFolder);
}

/** Small files once more, where only this bench has deleted files. */
async function onFreshDisk(report: Report, folder: string): Promise<void> {
  const client = await InstalledClient.install(folder);
  try {
    report.text('On a fresh file system:');
    await small(report, client, await available(client.root));
  } finally {
    await client.remove();
  }
}

/** From the start of a program to the first byte of its first request. */
async function starts(report: Report, client: InstalledClient, others: readonly Downloader[]): Promise<void> {
  const all = [ourselves(client), ...others];
  const times = new Map(all.map(({ name }): [string, number[]] => [name, []]));
  // The first start keeps its compiled code for the others.
  await client.run('http://127.0.0.1:9/v1/', ['--version']);
  for (let round = 0; round < 2 * rounds + 1; round += 1) {
    for (const program of all) times.get(program.name)?.push(await startOf(program, client));
  }
  const medians = [...times].map(([name, each]) => [name, median(each)] as const);
  const least = Math.min(...medians.slice(1).map(([, ms]) => ms));
  report.table(
    ['start to the first request', 'ms', 'of the quickest other', `≤ ${startTargetMs} ms`],
    medians.map(([name, ms], index) => {
      return [name, figure(ms), ratio(ms, least), index === 0 ? verdict(ms <= startTargetMs) : ''];
    }),
  );
}

async function startOf(program: Downloader, client: InstalledClient): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
  const asked = new Promise<number>((resolve) => {
    server.once('connection', (socket) => {
      socket.on('error', () => undefined).once('data', () => resolve(performance.now()));
    });
  });
  const files = [{ name: 'large.c4gh', size: mebibyte, repeat }];
  const [command = '', ...args] = await program.command({ url, files, folder: client.root });
  const started = performance.now();
  const child = spawn(command, args, { cwd: client.root, env: environment(program, { client, url }), stdio: 'ignore' });
  try {
    return (await asked) - started;
  } finally {
    child.kill('SIGKILL');
    await once(child, 'close');
    server.close();
  }
}

async function large(report: Report, client: InstalledClient, others: readonly Downloader[]): Promise<void> {
  const synced = others.map((other) => thenSync(other));
  const all = [ourselves(client), ...others, ...synced, ...limits];
  const rows = all.map(({ name }): (string | number)[] => [name]);
  const peaks = new Map<string, number | undefined>();
  const parts: Parts[] = [];
  for (const mebibytes of largeSizes) {
    const bytes = mebibytes * mebibyte;
    const files = [{ name: 'large.c4gh', size: bytes, repeat }];
    const server = await RangeServer.start(files);
    try {
      const measured = await inTurn(all, { client, server, files });
      for (const [index, { name }] of all.entries()) {
        const { seconds, peak } = measured.get(name) ?? { seconds: Number.NaN, peak: undefined };
        const isSynced = name === 'data-out' || name.endsWith('then sync') || name.startsWith('(disk');
        const least = bestOf(measured, isSynced ? synced : others);
        const goal = mebibytes < goalMebibytes ? undefined : goals.large.get(name);
        const met = goal === undefined ? '' : `, ${verdict(least / seconds >= goal)}`;
        rows[index]?.push(figure(bytes / seconds / 1e6), `${ratio(least, seconds)}${met}`);
        peaks.set(name, peak);
      }
      parts.push(await partsOf({ client, server, files }));
    } finally {
      server.stop();
    }
  }
  for (const row of rows) row.push(memory(peaks.get(String(row[0]))));
  report.text(
    `One file, the middle one of ${rounds} rounds in turn, beside the best other of the same durability (goal from ` +
      `${goalMebibytes} MiB on: ≥ ${goals.large.get('data-out')}):`,
  );
  const columns = largeSizes.flatMap((mebibytes) => [`${mebibytes} MiB: MB/s`, 'of the best other']);
  report.table(['', ...columns, 'peak memory of the last, MiB'], rows);
  const named = largeSizes.map((mebibytes) => `one file of ${mebibytes} MiB`);
  reportParts(report, named, parts);
}

/** Milliseconds that one download of ours spends in each part. Its own measuring makes the process start later. */
async function partsOf({ client, server, files }: Bout): Promise<Parts> {
  const ours = ourselves(client);
  const path = join(client.root, 'parts.json');
  const withParts: Downloader = {
    ...ours,
    async command(job) {
      const [node = '', ...rest] = await ours.command(job);
      return [node, '--import', new URL('./client-parts.ts', import.meta.url).href, ...rest];
    },
    env: { ...ours.env, BENCH_CLIENT_PARTS: path },
  };
  await run(withParts, { client, server, files });
  return JSON.parse(await readFile(path, 'utf8')) as Parts;
}

function reportParts(report: Report, columns: readonly string[], all: readonly Parts[]): void {
  report.text('Where the time of `data-out` goes after its start, in milliseconds; parts run side by side:');
  report.table(
    ['part', ...columns],
    partNames.map((name) => [name, ...all.map((parts) => figure(parts[name]))]),
  );
}

async function small(report: Report, client: InstalledClient, others: readonly Downloader[]): Promise<void> {
  const files = Array.from({ length: smallFiles }, (_, index): ServedFile => {
    return { name: `EGAF${String(index).padStart(11, '0')}.c4gh`, size: 4096, repeat: 'AAECAwQFBgc=' };
  });
  const rows: (string | number)[][] = [];
  const parts: Parts[] = [];
  for (const delayMs of delays) {
    const server = await RangeServer.start(files, delayMs);
    try {
      const synced = others.map((other) => thenSync(other));
      const all = [
        ourselves(client),
        ...(others.some(({ name }) => name === 'curl') ? [serialCurl] : []),
        ...others,
        ...synced,
        ...limits,
      ];
      const measured = await inTurn(all, { client, server, files });
      const curl = measured.get(serialCurl.name)?.seconds ?? Number.NaN;
      const [plain, durable] = [bestOf(measured, others), bestOf(measured, synced)];
      for (const [name, { seconds, peak }] of measured) {
        const goal = goals.small.get(name);
        rows.push([
          `${name}, ${delayMs} ms`,
          figure(seconds),
          figure(smallFiles / seconds),
          ratio(curl, seconds),
          goal === undefined ? '' : verdict(curl / seconds >= 3),
          ratio(plain, seconds),
          ratio(durable, seconds),
          goal === undefined || Number.isNaN(durable) ? '' : verdict(durable / seconds >= goal),
          memory(peak),
        ]);
      }
      parts.push(await partsOf({ client, server, files }));
    } finally {
      server.stop();
    }
  }
  report.text(`${smallFiles} files of 4 KiB, by the time that the server waits before each answer:`);
  report.table(
    [
      ...['', 'seconds', 'files/s', '× serial curl', '≥ 3', 'of the best other', 'of the best other that syncs'],
      ...['of the same durability: goal met', 'peak memory, MiB'],
    ],
    rows,
  );
  const named = delays.map((delayMs) => `${smallFiles} files, ${delayMs} ms`);
  reportParts(report, named, parts);
}

/** Speed against the best other of the same durability: `data-out` waits for the disk. */
const goals = {
  large: new Map([['data-out', 1]]),
  small: new Map([['data-out', 1]]),
} as const;

/** Seconds of the fastest. */
function bestOf(measured: ReadonlyMap<string, Measured>, some: readonly Downloader[]): number {
  return Math.min(...some.map(({ name }) => measured.get(name)?.seconds ?? Number.NaN));
}

interface Bout {
  readonly client: InstalledClient;
  readonly server: RangeServer;
  readonly files: readonly ServedFile[];
}

/** Each in turn, several times, so that other work of the machine meets all of them. */
async function inTurn(downloaders: readonly Downloader[], bout: Bout): Promise<ReadonlyMap<string, Measured>> {
  const all = new Map(downloaders.map(({ name }): [string, Measured[]] => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const downloader of downloaders) all.get(downloader.name)?.push(await run(downloader, bout));
  }
  return new Map(
    [...all].map(([name, runs]) => [
      name,
      {
        seconds: median(runs.map(({ seconds }) => seconds)),
        peak: runs.some(({ peak }) => peak === undefined) ? undefined : Math.max(...runs.map(({ peak }) => peak ?? 0)),
      },
    ]),
  );
}

/** @throws Error when the program fails or not all files exist */
async function run(downloader: Downloader, { client, server, files }: Bout): Promise<Measured> {
  const { name, command, whole = 0 } = downloader;
  const folder = join(client.root, 'downloaded');
  await mkdir(folder);
  try {
    const [program = '', ...args] = await command({ url: server.url, files, folder });
    const started = performance.now();
    const child = spawn(program, args, {
      cwd: folder,
      env: environment(downloader, { client, url: server.url }),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-1000);
    });
    const ended = once(child, 'close') as Promise<[number | null]>;
    const peak = peakOf(child, ended);
    const [exitCode] = await ended;
    const seconds = (performance.now() - started) / 1000;
    const there = (await readdir(folder)).length;
    if (exitCode !== whole || there !== files.length) throw new Error(`${name}: ${exitCode}, ${there} files: ${said}`);
    return { seconds, peak: await peak };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function environment({ env }: Downloader, { client, url }: { readonly client: InstalledClient; readonly url: string }) {
  return { PATH: process.env.PATH ?? '', ...client.env(url), ...env };
}

/** The client. The server has no receipts, so the files are whole, but not verified. */
function ourselves(client: InstalledClient): Downloader {
  return {
    name: 'data-out',
    command: ({ folder }) => [process.execPath, client.script, '--quiet', 'download', '--all', '-o', folder],
    whole: exitCodes.notVerified,
  };
}

/** With the durability of `data-out`: the files are on the disk when it ends. */
function thenSync({ name, command, ...rest }: Downloader): Downloader {
  return {
    name: `${name}, then sync`,
    async command(job) {
      return ['sh', '-c', '"$@" && find . -type f -exec sync {} +', 'sh', ...(await command(job))];
    },
    ...rest,
  };
}

/** What is possible here: the bytes over the loopback alone, and files of the same sizes to the disk alone. */
const limits: readonly Downloader[] = [
  {
    name: '(loopback, nothing written)',
    command({ url, files }) {
      const read = 'url=$1; shift; for name; do echo "url = $url$name"; echo "output = /dev/null"; done';
      const all = `(${read}) | curl --silent --show-error --fail --location --config - && shift && touch "$@"`;
      return ['sh', '-c', all, 'sh', `${url}stream/`, ...files.map(({ name }) => name)];
    },
  },
  {
    name: '(disk, nothing received)',
    command({ files }) {
      const write = 'size=$1; shift; for name; do head -c "$size" /dev/zero > "$name"; done && sync "$@"';
      return ['sh', '-c', write, 'sh', `${files[0]?.size}`, ...files.map(({ name }) => name)];
    },
  },
];

/** One call after the other, as in a script. */
const serialCurl: Downloader = {
  name: 'curl, one call a file',
  command({ url, files }) {
    const each =
      'for name; do curl --silent --show-error --fail --location --output "$name" "$url$name" || exit 1; done';
    return ['sh', '-c', `url=$1; shift; ${each}`, 'sh', `${url}stream/`, ...files.map(({ name }) => name)];
  },
};

/** The other programs that are installed. Each follows the proxy's redirection for each file, as its users do. */
async function available(root: string): Promise<readonly Downloader[]> {
  const list = join(root, 'list.txt');
  const from = ({ url }: Job, { name }: ServedFile) => `${url}stream/${encodeURIComponent(name)}`;
  const all: readonly Downloader[] = [
    {
      name: 'curl',
      // One call and one connection for all files: the fastest way without parallel requests.
      async command(job) {
        const lines = job.files.map((file) => `url = "${from(job, file)}"\noutput = "${file.name}"`);
        await writeFile(list, lines.join('\n'));
        return ['curl', '--silent', '--show-error', '--fail', '--location', '--config', list];
      },
    },
    {
      name: 'aria2c',
      async command(job) {
        const lines = job.files.map((file) => `${from(job, file)}\n  out=${file.name}`);
        await writeFile(list, lines.join('\n'));
        return [
          'aria2c',
          '--quiet',
          '--split=4',
          '--max-connection-per-server=16',
          '--max-concurrent-downloads=8',
          `--input-file=${list}`,
        ];
      },
    },
    {
      name: 'rclone',
      async command(job) {
        const [first] = job.files;
        if (job.files.length === 1 && first) {
          return ['rclone', 'copyurl', '--multi-thread-streams=4', from(job, first), join(job.folder, first.name)];
        }
        const names = job.files.map(({ name }) => name);
        await writeFile(list, names.join('\n'));
        const source = [`--http-url=${job.url}stream/`, '--no-traverse', '--transfers=8', '--files-from-raw', list];
        return ['rclone', 'copy', ...source, ':http:', job.folder];
      },
    },
  ];
  const found = await Promise.all(all.map(async (one) => ((await isInstalled(one.name)) ? [one] : [])));
  return found.flat();
}

async function isInstalled(program: string): Promise<boolean> {
  const child = spawn(program, ['--version'], { stdio: 'ignore' });
  return await new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}

function memory(peak: number | undefined): string {
  return peak === undefined ? 'not known here' : figure(peak / mebibyte);
}
