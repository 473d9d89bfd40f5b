import { spawnSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addFile } from '../lib/ops/archive/add-file.ts';
import { readArchiveKeys } from '../lib/ops/secrets/archive-keys.ts';
import { localTarget } from '../lib/ops/target.ts';
import { readHead, readIndex, virtualRangesOf } from '../lib/regions/index.ts';
import { formatBytes, formatDuration } from '../lib/terminal/output.ts';
import { Service } from '../test/helpers/service.ts';
import { type Reference, reads, shell } from '../test/interop/regions/genomes.ts';
import { figure, median, type Report, ratio, verdict } from './report.ts';
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

/** A region of 100 kb out of a BAM and a CRAM: what it costs beside samtools on a static server, and beside the whole file. */
export default async function regions(report: Report): Promise<void> {
  if (spawnSync('samtools', ['--version']).status !== 0) {
    report.text('Not run: there is no `samtools` on this machine.');
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), 'data-out-bench-'));
  const service = await Service.start();
  const files = serveFiles(folder);
  try {
    await writeFile(join(folder, 'all.sam'), reads(references));
    await shell(folder, 'samtools view -b -o all.bam all.sam && samtools index all.bam');
    await shell(
      folder,
      'samtools view -C --output-fmt-option no_ref=1 -o all.cram all.bam && samtools index all.cram; rm all.sam',
    );
    const rows: string[][] = [];
    for (const [data, index] of [
      ['all.bam', 'all.bam.bai'],
      ['all.cram', 'all.cram.crai'],
    ] as const) {
      rows.push(
        ...(await measured(service, folder, `http://127.0.0.1:${(files.address() as AddressInfo).port}`, data, index)),
      );
    }
    report.table(['a region of 100 kb', 'figure'], rows);
  } finally {
    files.close();
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measured(
  service: Service,
  folder: string,
  plain: string,
  data: string,
  index: string,
): Promise<string[][]> {
  const id = await archived(service, folder, data);
  await archived(service, folder, index);
  await service.setDataset('EGAD1', 'released');
  const visa = await service.visa();
  await writeFile(join(folder, 'visa'), visa);
  const { size } = await stat(join(folder, data));
  const { traffic } = service.engine;
  const format = data.endsWith('.bam') ? 'BAM' : 'CRAM';
  const chunks = await chunkBytes(join(folder, data), join(folder, index), format);
  const query = new URLSearchParams({
    format,
    referenceName: region.referenceName,
    start: `${region.start}`,
    end: `${region.end}`,
  });
  const url = `${service.connection.dataOutUrl.replace(/\/$/, '')}/htsget/reads/${id}?${query}`;
  const headers = { Authorization: `Bearer ${visa}` };

  const tickets: number[] = [];
  const ofTicket: { s3: number; database: number }[] = [];
  let payload = 0;
  let read = 0;
  for (let round = 0; round <= rounds; round += 1) {
    traffic.resetCounters();
    const before = performance.now();
    const ticket = (await (await fetch(url, { headers })).json()) as {
      htsget: { urls: { url: string; headers?: Record<string, string> }[] };
    };
    tickets.push(performance.now() - before);
    ofTicket.push({ s3: calls(service, 's3'), database: calls(service, 'rds-data') });
    payload = 0;
    for (const part of ticket.htsget.urls) {
      payload += (await (await fetch(part.url, part.headers && { headers: part.headers })).arrayBuffer()).byteLength;
    }
    read = traffic.bytesOf(functionName, 's3');
  }
  const [cold = Number.NaN, ...warm] = tickets;
  const env = {
    HTS_AUTH_LOCATION: join(folder, 'visa'),
    HTS_ALLOW_UNENCRYPTED_AUTHORIZATION_HEADER: 'I understand the risks',
  };
  const place = `${region.referenceName}:${region.start + 1}-${region.end}`;
  const [ours, theirs, whole]: number[][] = [[], [], []];
  for (let round = 0; round < rounds; round += 1) {
    ours?.push(await timed(() => shell(folder, `samtools view -c '${url}'`, env)));
    theirs?.push(await timed(() => shell(folder, `samtools view -c ${plain}/${data} ${place}`)));
    if (round === 0) whole?.push(await timed(() => shell(folder, `samtools view -c ${plain}/${data}`)));
  }
  const bound = 1.3 * chunks + 128 * 1024;
  const memory = peakMemory(
    service.engine.functions.definition(functionName).environment.AWS_LAMBDA_FUNCTION_NAME ?? '',
  );
  return [
    [`**${data}**, ${formatBytes(size)}; bytes of the chunks that its index names`, formatBytes(chunks)],
    ['bytes read from S3, index cached; of the bound', `${formatBytes(read)}, ${ratio(read, bound)}`],
    ['payload before base64; of the bound', `${formatBytes(payload)}, ${ratio(payload, bound)}`],
    ['within 1.3 × the chunks and 128 KiB', verdict(read <= bound && payload <= bound)],
    ['ticket, index cached', formatDuration(median(warm))],
    ['ticket, cold', formatDuration(cold)],
    ['calls of a cold ticket: S3, Data API', `${ofTicket[0]?.s3}, ${ofTicket[0]?.database}`],
    ['`samtools view` of the ticket', formatDuration(median(ours ?? []))],
    ['beside `samtools view` of a region on a static server', ratio(median(ours ?? []), median(theirs ?? []))],
    ['beside `samtools view` of the whole file', ratio(median(ours ?? []), median(whole ?? []))],
    ['peak memory of the function', memory === undefined ? 'not known here' : formatBytes(memory)],
    ['tickets measured', figure(tickets.length)],
  ];
}

/** Bytes between the ends of the chunks that the index names for the region. */
async function chunkBytes(data: string, index: string, format: 'BAM' | 'CRAM'): Promise<number> {
  const file = await open(data);
  try {
    const { size } = await file.stat();
    const read = async (start: number, end: number) =>
      (await file.read(new Uint8Array(end - start), 0, end - start, start)).buffer;
    const head = await readHead({ size, read }, format);
    const ranges = virtualRangesOf(await readIndex(createReadStream(index)), head, [region]);
    return ranges.reduce((sum, { start, end }) => sum + end.block - start.block, 0);
  } finally {
    await file.close();
  }
}

async function archived(service: Service, folder: string, name: string): Promise<string> {
  const target = localTarget(service.connection);
  const keys = await readArchiveKeys(target.archiveKeys);
  const input = { label: name, size: undefined, bytes: createReadStream(join(folder, name)) };
  return (await addFile(target, { datasetId: 'EGAD1', path: name, input, keys })).fileId;
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
