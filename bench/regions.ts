import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeyPair } from '../lib/crypt4gh/index.ts';
import { formatOf, indexPathsOf, readHead, readIndex, virtualRangesOf } from '../lib/regions/index.ts';
import { formatBytes } from '../lib/terminal/output.ts';
import { type Reference, reads, shell } from '../test/helpers/genomes.ts';
import { Service } from '../test/helpers/service.ts';
import { peakMemory } from '../test/helpers/worker-memory.ts';
import { atMost, median, type Report, ratio } from './report.ts';

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
const key = { 'Public-Key': Buffer.from(generateKeyPair().publicKey).toString('base64') };

/** The engine with files in one dataset, and a folder of the plain ones. */
interface World {
  readonly service: Service;
  readonly folder: string;
  /** Address of a static server of the folder. */
  readonly plain: string;
  readonly visa: string;
}

/** Regions of a BAM and a CRAM: what they cost beside the chunks that the index names, and beside samtools on a static server. */
export default async function regions(report: Report): Promise<void> {
  if (spawnSync('samtools', ['--version']).status !== 0) {
    report.text('Not run: there is no `samtools` on this machine.');
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), 'data-out-bench-'));
  const service = await Service.start();
  const files = serveFiles(folder);
  await once(files, 'listening');
  const plain = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
  try {
    await makeFiles(folder);
    const world = { service, folder, plain, visa: await service.visa() };
    await writeFile(join(folder, 'visa'), world.visa);
    for (const data of ['all.bam', 'all.cram']) await measure(report, world, data);
  } finally {
    files.close();
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function makeFiles(folder: string): Promise<void> {
  await writeFile(join(folder, 'all.sam'), reads(references));
  const cram = 'samtools view -C --output-fmt-option no_ref=1 -o all.cram all.bam && samtools index all.cram';
  await shell(folder, `samtools view -b -o all.bam all.sam && samtools index all.bam && ${cram} && rm all.sam`);
}

async function measure(report: Report, world: World, data: string): Promise<void> {
  const { service, folder, plain } = world;
  const index = indexPathsOf(data)[0] ?? '';
  for (const name of [data, index]) await service.archiveBytes('EGAD1', name, createReadStream(join(folder, name)));
  await service.setDataset('EGAD1', 'released');
  const bound = 1.3 * (await chunkBytes(join(folder, data), join(folder, index))) + 128 * 1024;
  const { referenceName, start, end } = region;
  const path = `EGAD1%2F${data}?${new URLSearchParams({ referenceName, start: `${start}`, end: `${end}` })}`;
  // The first request starts the function, and fills its caches.
  await askedTicket(world, path);
  const { read, payload } = await askedTicket(world, path);
  const encrypted = await askedTicket(world, path, key);

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
  const bytes = Math.max(read, payload, encrypted.payload) / bound;
  const time = median(ours) / median(theirs);
  report.headline({
    what: `100 kb of ${data}: bytes, of 1.3 × the chunks in the index and 128 KiB`,
    value: ratio(bytes, 1),
    target: atMost(bytes, 1, ' ×'),
  });
  report.headline({
    what: `100 kb of ${data}: \`samtools view\`, of the same on a static server`,
    value: ratio(time, 1),
    target: atMost(time, 3, ' ×'),
  });
  const memory = memoryOf(service);
  report.headline({
    what: `100 kb of ${data}: peak memory of the function`,
    value: formatBytes(memory),
    target: atMost(memory / 2 ** 20, 256, ' MiB'),
  });
}

/** A ticket with all that its URLs give. */
interface Answer {
  /** Bytes from S3 and to the client. */
  readonly read: number;
  readonly payload: number;
}

async function askedTicket(
  { service, visa }: World,
  path: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { traffic } = service.engine;
  traffic.resetCounters();
  const reply = await fetch(`${directUrl(service)}/htsget/reads/${path}`, {
    headers: { Authorization: `Bearer ${visa}`, ...headers },
  });
  const { htsget } = (await reply.json()) as {
    htsget: { urls?: { url: string; headers?: Record<string, string> }[] };
  };
  let payload = 0;
  for (const part of htsget.urls ?? []) {
    payload += (await (await fetch(part.url, part.headers && { headers: part.headers })).arrayBuffer()).byteLength;
  }
  return { read: traffic.bytesOf(functionName, 's3'), payload };
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
