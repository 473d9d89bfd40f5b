import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { generateKeyPair } from '../lib/crypt4gh/index.ts';
import { formatOf, indexPathsOf, readHead, readIndex, virtualRangesOf } from '../lib/regions/index.ts';
import { formatBytes, formatDuration } from '../lib/terminal/output.ts';
import { Service } from '../test/helpers/service.ts';
import { type Reference, reads, shell } from '../test/interop/regions/genomes.ts';
import { median, type Report, ratio, verdict } from './report.ts';
import { peakMemory } from './worker-memory.ts';

/** About 84 bytes of BAM each: 1 GB in all. */
const count = Number(process.env.BENCH_REGIONS_READS ?? 12_000_000);
const rounds = 5;
const references: readonly Reference[] = [
  { name: 'chr1', length: 80_000_000, reads: Math.floor(count * 0.6) },
  { name: 'chr2', length: 40_000_000, reads: Math.floor(count * 0.3) },
  { name: 'chr3', length: 13_000_000, reads: Math.floor(count * 0.1) },
];
/** 100 kb. */
const region = { referenceName: 'chr1', start: 40_000_000, end: 40_100_000 };
const functionName = 'htsget';
const mostMemory = 256 * 2 ** 20;
const key = { 'Public-Key': Buffer.from(generateKeyPair().publicKey).toString('base64') };
const vectors = new URL('../test/vectors/regions/', import.meta.url);

/** The engine with files in one dataset, and a folder of the plain ones. */
interface World {
  readonly service: Service;
  readonly folder: string;
  /** Address of a static server of the folder. */
  readonly plain: string;
  readonly visa: string;
}

/** Regions out of a BAM and a CRAM: what they cost beside samtools on a static server, and beside the whole file. */
export default async function regions(report: Report): Promise<void> {
  if (spawnSync('samtools', ['--version']).status !== 0) {
    report.text('Not run: there is no `samtools` on this machine.');
    return;
  }
  const kept = process.env.BENCH_REGIONS_FOLDER;
  const folder = kept ?? (await mkdtemp(join(tmpdir(), 'data-out-bench-')));
  const service = await Service.start();
  const files = serveFiles(folder);
  await once(files, 'listening');
  const plain = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
  try {
    if (!(await stat(join(folder, 'all.cram.crai')).catch(() => undefined))) await makeFiles(folder);
    const world = { service, folder, plain, visa: await service.visa() };
    await writeFile(join(folder, 'visa'), world.visa);
    await service.archiveBytes('EGAD1', 'first.bam', createReadStream(new URL('reads.bam', vectors)));
    await service.setDataset('EGAD1', 'released');
    // The first request starts the function.
    await askedTicket(world, 'EGAD1%2Ffirst.bam?class=header');
    for (const data of ['all.bam', 'all.cram']) {
      report.table([`100 kb of ${data}`, 'figure'], await measured(world, data));
    }
    report.table(['`data-out serve` of all.bam', 'figure'], await served(world));
    const rows = [];
    for (const megabytes of [10, 40, 200]) rows.push(await largeIndex(world, megabytes));
    report.table(['CSI', 'ticket, index cold', 'ticket, index cached', 'peak memory', '≤ 256 MB', 'reply'], rows);
  } finally {
    files.close();
    await service.stop();
    if (kept === undefined) await rm(folder, { recursive: true, force: true });
  }
}

async function makeFiles(folder: string): Promise<void> {
  await writeFile(join(folder, 'all.sam'), reads(references));
  const cram = 'samtools view -C --output-fmt-option no_ref=1 -o all.cram all.bam && samtools index all.cram';
  await shell(folder, `samtools view -b -o all.bam all.sam && samtools index all.bam && ${cram} && rm all.sam`);
}

async function measured(world: World, data: string): Promise<string[][]> {
  const { service, folder, plain } = world;
  const index = indexPathsOf(data)[0] ?? '';
  for (const name of [data, index]) await service.archiveBytes('EGAD1', name, createReadStream(join(folder, name)));
  const { size } = await stat(join(folder, data));
  const chunks = await chunkBytes(join(folder, data), join(folder, index));
  const bound = 1.3 * chunks + 128 * 1024;
  const { referenceName, start, end } = region;
  const path = `EGAD1%2F${data}?${new URLSearchParams({ referenceName, start: `${start}`, end: `${end}` })}`;

  const cold = await askedTicket(world, path);
  const warm: Answer[] = [];
  for (let round = 0; round < rounds; round += 1) warm.push(await askedTicket(world, path));
  const encrypted = await askedTicket(world, path, key);
  const memory = memoryOf(service);

  const url = `${directUrl(service)}/htsget/reads/${path}`;
  const env = {
    HTS_AUTH_LOCATION: join(folder, 'visa'),
    HTS_ALLOW_UNENCRYPTED_AUTHORIZATION_HEADER: 'I understand the risks',
  };
  const place = `${referenceName}:${start + 1}-${end}`;
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    ours.push(await timed(() => shell(folder, `samtools view -c '${url}'`, env)));
    theirs.push(await timed(() => shell(folder, `samtools view -c ${plain}/${data} ${place}`)));
  }
  const whole = await timed(() => shell(folder, `samtools view -c ${plain}/${data}`));
  const ticket = median(warm.map(({ milliseconds }) => milliseconds));
  const { read = Number.NaN, payload = Number.NaN, calls } = warm.at(-1) ?? {};
  const time = median(ours) / median(theirs);
  return [
    [`bytes of the chunks that the index names, of ${formatBytes(size)}`, formatBytes(chunks)],
    ['bytes read from S3; of 1.3 × the chunks and 128 KiB', `${formatBytes(read)}; ${ratio(read, bound)}`],
    ['payload before base64; of the same', `${formatBytes(payload)}; ${ratio(payload, bound)}`],
    ['both within it', verdict(read <= bound && payload <= bound)],
    ['for a key: bytes read from S3, payload', `${formatBytes(encrypted.read)}, ${formatBytes(encrypted.payload)}`],
    ['for a key: payload within it', verdict(encrypted.payload <= bound)],
    ['ticket, header and index cached; ≤ 150 ms', `${formatDuration(ticket)}; ${verdict(ticket <= 150)}`],
    ['ticket, cold', formatDuration(cold.milliseconds)],
    [
      'calls of a ticket to S3 and the Data API: cold, cached, for a key',
      `${cold.calls}; ${calls}; ${encrypted.calls}`,
    ],
    ['`samtools view` of the ticket', formatDuration(median(ours))],
    ['beside `samtools view` of a region on a static server; ≤ 3 ×', `${ratio(time, 1)}; ${verdict(time <= 3)}`],
    ['beside `samtools view` of the whole file', ratio(median(ours), whole)],
    ['peak memory of the function', formatBytes(memory)],
  ];
}

/** Reads of 64 KiB at random and of 512 MiB in order, by HTTP from `data-out serve` in its own process. */
async function served({ folder }: World): Promise<string[][]> {
  const client = join(import.meta.dirname, '../bin/data-out.ts');
  const run = `${process.execPath} ${client}`;
  const keys = `${run} keys generate me --no-passphrase --force`;
  await shell(folder, `${keys} && ${run} encrypt --force -r me.pub.pem -o all.bam.c4gh all.bam`);
  const serving = spawn(process.execPath, [client, 'serve', '.', '--key', 'me.sec.pem'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [printed] = await once(serving.stdout, 'data');
    const url = `${String(printed).trim()}all.bam`;
    const { size } = await stat(join(folder, 'all.bam'));
    const random: number[] = [];
    for (let round = 1; round <= 51; round += 1) {
      const start = Math.floor((round * 0.618 * size) % (size - 65_536));
      const headers = { Range: `bytes=${start}-${start + 65_535}` };
      random.push(await timed(async () => (await fetch(url, { headers })).arrayBuffer()));
    }
    const bytes = Math.min(size, 512 * 2 ** 20);
    const inOrder: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      inOrder.push(await timed(() => shell(folder, `curl -sSf -o /dev/null -r 0-${bytes - 1} '${url}'`)));
    }
    const rate = bytes / 1000 / median(inOrder);
    return [
      ['64 KiB at random; ≤ 15 ms', `${formatDuration(median(random))}; ${verdict(median(random) <= 15)}`],
      [`${formatBytes(bytes)} in order; ≥ 150 MB/s`, `${rate.toFixed(0)} MB/s; ${verdict(rate >= 150)}`],
    ];
  } finally {
    serving.kill('SIGINT');
  }
}

/** What a ticket is like whose index has so many megabytes. */
async function largeIndex(world: World, megabytes: number): Promise<string[]> {
  const { service } = world;
  const name = `${megabytes}.bam`;
  const index = paddedIndex(await readFile(new URL('reads.bam.csi', vectors)), megabytes);
  await service.archiveBytes('EGAD1', name, createReadStream(new URL('reads.bam', vectors)));
  await service.archiveBytes('EGAD1', `${name}.csi`, Readable.from(index));
  const path = `EGAD1%2F${name}?referenceName=one&start=100000&end=110000`;
  const [cold, cached] = [await askedTicket(world, path), await askedTicket(world, path)];
  const memory = memoryOf(service);
  return [
    `${megabytes} MB`,
    formatDuration(cold.milliseconds),
    formatDuration(cached.milliseconds),
    formatBytes(memory),
    verdict(memory <= mostMemory),
    cached.error ?? 'a ticket',
  ];
}

/** The CSI with more references, of 30,000 bins each (CSIv1 § 2), until it has so many megabytes. */
function* paddedIndex(compressed: Buffer, megabytes: number): Generator<Buffer> {
  const plain = gunzipSync(compressed);
  const counted = 16 + plain.readInt32LE(12);
  const bins = 30_000;
  /** The first bin of the second level (CSIv1 § 2). */
  const smallest = 9;
  const reference = Buffer.alloc(4 + bins * 32);
  reference.writeInt32LE(bins);
  for (let bin = 0; bin < bins; bin += 1) {
    reference.writeUInt32LE(smallest + (bin % 64), 4 + bin * 32);
    reference.writeInt32LE(1, 16 + bin * 32);
    reference.writeBigUInt64LE(BigInt(1_000 + bin) << 16n, 20 + bin * 32);
    reference.writeBigUInt64LE(BigInt(1_001 + bin) << 16n, 28 + bin * 32);
  }
  const more = Math.floor((megabytes * 1e6) / reference.length);
  plain.writeInt32LE(plain.readInt32LE(counted) + more, counted);
  // Behind the references is the number of unplaced reads.
  yield plain.subarray(0, -8);
  for (let added = 0; added < more; added += 1) yield reference;
  yield plain.subarray(-8);
}

/** A ticket with all that its URLs give. */
interface Answer {
  readonly milliseconds: number;
  /** To S3 and the Data API, for the ticket alone. */
  readonly calls: string;
  /** Bytes from S3 and to the client. */
  readonly read: number;
  readonly payload: number;
  readonly error: string | undefined;
}

async function askedTicket(
  { service, visa }: World,
  path: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { traffic } = service.engine;
  traffic.resetCounters();
  const before = performance.now();
  const reply = await fetch(`${directUrl(service)}/htsget/reads/${path}`, {
    headers: { Authorization: `Bearer ${visa}`, ...headers },
  });
  const { htsget } = (await reply.json()) as {
    htsget: { message?: string; urls?: { url: string; headers?: Record<string, string> }[] };
  };
  const milliseconds = performance.now() - before;
  const ofTicket = `${calls(service, 's3')} and ${calls(service, 'rds-data')}`;
  let payload = 0;
  for (const part of htsget.urls ?? []) {
    payload += (await (await fetch(part.url, part.headers && { headers: part.headers })).arrayBuffer()).byteLength;
  }
  return { milliseconds, calls: ofTicket, read: traffic.bytesOf(functionName, 's3'), payload, error: htsget.message };
}

const directUrl = ({ connection }: Service) => connection.dataOutUrl.replace(/\/$/, '');

const memoryOf = ({ engine }: Service) =>
  peakMemory(engine.functions.definition(functionName).environment.AWS_LAMBDA_FUNCTION_NAME ?? '') ?? Number.NaN;

/** Bytes between the ends of the chunks that the index names for the region. */
async function chunkBytes(data: string, index: string): Promise<number> {
  const file = await open(data);
  try {
    const { size } = await file.stat();
    const format = formatOf(data);
    if (!format) throw new Error(`${data} has no format`);
    const read = async (start: number, end: number) =>
      (await file.read(new Uint8Array(end - start), 0, end - start, start)).buffer;
    async function* stream(start: number, end: number) {
      yield await read(start, end);
    }
    const head = await readHead({ size, read, stream }, format);
    const ranges = virtualRangesOf(await readIndex(createReadStream(index)), head, [region]);
    return ranges.reduce((sum, { start, end }) => sum + end.block - start.block, 0);
  } finally {
    await file.close();
  }
}

function calls(service: Service, of: string): number {
  return Object.entries(service.engine.traffic.counters())
    .filter(([name]) => name.startsWith(`${functionName} ${of} `))
    .reduce((sum, [, counter]) => sum + counter.calls, 0);
}

async function timed(job: () => Promise<unknown>): Promise<number> {
  const before = performance.now();
  await job();
  return performance.now() - before;
}

/** The files of a folder by range, as any static server gives them. */
function serveFiles(folder: string): Server {
  return createServer(async (request, response) => {
    const path = join(folder, decodeURIComponent(request.url ?? ''));
    const size = (await stat(path).catch(() => undefined))?.size;
    if (size === undefined) {
      response.writeHead(404).end();
      return;
    }
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const start = Number(first ?? 0);
    const end = last ? Math.min(Number(last) + 1, size) : size;
    response.writeHead(first === undefined ? 200 : 206, {
      'Content-Length': end - start,
      'Accept-Ranges': 'bytes',
      ...(first !== undefined && { 'Content-Range': `bytes ${start}-${end - 1}/${size}` }),
    });
    const stream = createReadStream(path, { start, end: end - 1 });
    response.on('close', () => stream.destroy());
    stream.pipe(response);
  }).listen(0, '127.0.0.1');
}
