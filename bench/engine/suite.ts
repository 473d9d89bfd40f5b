import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { type Connection, connection } from '../../lib/contract/connection.ts';
import { outboxKey, outboxPrefix } from '../../lib/contract/outbox-key.ts';
import { formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { type AddedFile, addFile } from '../../lib/ops/archive/add-file.ts';
import { setDatasetEvent } from '../../lib/ops/commands/dataset.ts';
import { issueVisa } from '../../lib/ops/commands/local-issuer.ts';
import { readArchiveKeys } from '../../lib/ops/secrets/archive-keys.ts';
import { localTarget } from '../../lib/ops/target.ts';
import { formatBytes, formatDuration } from '../../lib/terminal/output.ts';
import { assembly } from '../../test/helpers/assembly.ts';
import { runClient, startClient } from '../../test/helpers/client-process.ts';
import { basic } from '../../test/helpers/http-request.ts';
import { installedProgram } from '../../test/helpers/installed-program.ts';
import { bytesOf } from '../../test/helpers/made-files.ts';
import { Client } from '../data-out/client.ts';
import { figure, median, type Report, ratio, verdict } from '../report.ts';
import { processesOf } from './processes.ts';

const mebibyte = 2 ** 20;
const fileBytes = Number(process.env.BENCH_ENGINE_MIB ?? 10 * 1024) * mebibyte;
const listedFiles = Number(process.env.BENCH_ENGINE_FILES ?? 50_000);
/** How much of the plaintext is fetched directly, and in which ranges: those of our client, and large ones. */
const directBytes = Math.min(fileBytes, 1024 * mebibyte);
const directRanges = [
  { size: 5 * mebibyte, atOnce: 8 },
  { size: 64 * mebibyte, atOnce: 4 },
] as const;
const batchRows = Number(process.env.BENCH_ENGINE_ROWS ?? 1000);
const rounds = 3;
/** A batch is measured with a small file: with a large one, the time is that of S3's copies. */
const batchFileBytes = 1_000_000;
const targets = {
  memory: 400e6,
  presigned: 0.5,
  smallRangeMs: 10,
  plaintext: 150,
  batchMs: 60_000,
  listMs: 3000,
  firstMs: 300,
};

/** The engine with a real-sized file: how fast it stores and returns the file, and how much memory that takes. */
export default async function engineSuite(report: Report): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'data-out-bench-engine-'));
  const client = new Client();
  const engine = fork(fileURLToPath(new URL('./engine-process.ts', import.meta.url)), [
    await assembly(),
    join(folder, 'data'),
  ]);
  try {
    const ended = once(engine, 'exit').then(() => Promise.reject(new Error('the engine did not start')));
    const [path] = (await Promise.race([once(engine, 'message'), ended])) as [string];
    ended.catch(() => undefined);
    const stage = new Stage(connection.parse(JSON.parse(await readFile(path, 'utf8'))));
    const pid = engine.pid ?? 0;
    const atRest = memoryOf(pid);
    engine.send('first requests');
    const [firsts] = (await once(engine, 'message')) as [number[]];

    const archiving = await timed(() => stage.archive('sample.bam', fileBytes));
    const file = archiving.value;
    const staging = await timed(() => stage.export(file));
    const container = staging.value;
    const url = await stage.presigned(container.key);
    const reference = join(folder, 'reference');
    await writeFile(reference, bytesOf({ path: 'reference', size: Math.min(container.size, 4096 * mebibyte) }));
    const reading = await throughput(() => readWhole(reference));
    const whole = await throughput(async () => (await client.run([{ url, headers: {} }])).bytes);
    const small = await smallRanges(client, url, container.size);
    const plaintexts: (readonly string[])[] = [];
    const parts: (readonly string[])[] = [];
    for (const ranges of directRanges) {
      const before = timesOf(pid);
      const plaintext = await throughput(() => stage.plaintext(client, file, ranges));
      const count = (rounds * directBytes) / ranges.size;
      const perRange = (name: string) => figure(((timesOf(pid).get(name) ?? 0) - (before.get(name) ?? 0)) / count);
      parts.push([`${ranges.size / mebibyte} MiB`, ...timedParts.map(perRange)]);
      plaintexts.push([
        `plaintext, ${ranges.atOnce} ranges of ${ranges.size / mebibyte} MiB at once`,
        `${figure(plaintext)} MiB/s`,
        ratio(plaintext, whole),
        verdict(plaintext >= targets.plaintext),
      ]);
    }
    const busy = memoryOf(pid);
    await stage.fill(listedFiles);
    const listing = await timed(() => stage.list());
    const ordered = await stage.archive('small.bam', batchFileBytes);
    const batch = await timed(() => stage.batch(ordered, folder));
    await stage.delivered(listing.value + batchRows);
    const list = await stage.listByClient(folder);

    report.table(
      [`one file of ${formatBytes(fileBytes)}`, 'figure', 'beside', 'target met'],
      [
        ['archived', formatDuration(archiving.milliseconds), rate(fileBytes, archiving.milliseconds), ''],
        ['exported', formatDuration(staging.milliseconds), rate(container.size, staging.milliseconds), ''],
        ['reading a file', `${figure(reading)} MiB/s`, '1 ×', ''],
        [
          'presigned GET, whole',
          `${figure(whole)} MiB/s`,
          ratio(whole, reading),
          verdict(whole >= targets.presigned * reading),
        ],
        ['presigned GET of 100 bytes', `${figure(small)} ms`, '', verdict(small <= targets.smallRangeMs)],
        ...plaintexts,
        [
          'first request of a function, the middle one and the slowest',
          `${figure(median(firsts))}, ${figure(Math.max(...firsts))} ms`,
          '',
          verdict(Math.max(...firsts) <= targets.firstMs),
        ],
        ['memory of engine and queues at rest', formatBytes(atRest.own), '', ''],
        ['the most that they had', formatBytes(busy.own), '', verdict(busy.own <= targets.memory)],
        ['the largest process of a function', formatBytes(busy.largestFunction), '', ''],
        [
          `${listing.value} objects listed`,
          formatDuration(listing.milliseconds),
          `${figure((listing.value * 1000) / listing.milliseconds)} a second`,
          '',
        ],
        [
          `\`data-out list\` of them with ${batchRows} receipts: first line, whole`,
          `${figure(list.first / 1000)}, ${formatDuration(list.milliseconds)}`,
          '',
          verdict(list.milliseconds <= targets.listMs),
        ],
        [
          `${batchRows} rows of a batch`,
          formatDuration(batch.milliseconds),
          `${figure((batchRows * 1000) / batch.milliseconds)} a second`,
          verdict(batch.milliseconds <= targets.batchMs),
        ],
      ],
    );
    report.table(['processor time of a range of plaintext, ms', ...timedParts], parts);
  } finally {
    client.stop();
    if (engine.connected) {
      engine.disconnect();
      await once(engine, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  }
}

/** The calls of the suite to a running engine. */
class Stage {
  readonly #connection: Connection;
  readonly #s3: S3Client;
  readonly #datasetId = 'EGAD00000000001';
  readonly #subject = 'bench';

  constructor(running: Connection) {
    this.#connection = running;
    const { region, credentials, endpoints } = running;
    this.#s3 = new S3Client({ region, credentials, endpoint: endpoints.s3, forcePathStyle: true });
  }

  async archive(path: string, size: number): Promise<AddedFile> {
    const target = localTarget(this.#connection);
    const keys = await readArchiveKeys(target.archiveKeys);
    const input = { label: path, size, bytes: bytesOf({ path, size }) };
    const added = await addFile(target, { datasetId: this.#datasetId, path, input, keys });
    await setDatasetEvent(target, this.#datasetId, 'released');
    return added;
  }

  /** @returns the staged container */
  async export({ fileId }: AddedFile): Promise<{ readonly key: string; readonly size: number }> {
    const { proxyUrl, admin } = this.#connection;
    const reply = await fetch(`${proxyUrl}/export/fega`, {
      method: 'POST',
      headers: { Authorization: basic(admin.username, admin.password), 'Content-Type': 'application/json' },
      body: JSON.stringify({
        id: fileId,
        type: 'fileId',
        visaToken: await this.#visa(),
        userPublicKey: formatPublicKey(generateKeyPair().publicKey),
      }),
    });
    if (reply.status !== 200) throw new Error(`export answered ${reply.status}: ${await reply.text()}`);
    const { requestId } = (await reply.json()) as { requestId: string };
    for (;;) {
      for await (const row of localTarget(this.#connection).audit.newest({ requestId }, 10)) {
        if (row.event === 'rejected') throw new Error(`the export was rejected: ${row.reason}`);
        const name = `${fileId}-sample.bam.c4gh`;
        if (row.event === 'staged') return { key: outboxKey(this.#prefix, name), size: row.bytes ?? 0 };
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  presigned(Key: string): Promise<string> {
    const Bucket = this.#connection.outputs.OutboxBucketName;
    return getSignedUrl(this.#s3, new GetObjectCommand({ Bucket, Key }));
  }

  /** The beginning of the file by direct access. @returns bytes */
  async plaintext(
    client: Client,
    { fileId }: AddedFile,
    { size, atOnce }: { readonly size: number; readonly atOnce: number },
  ): Promise<number> {
    const url = `${this.#connection.dataOutUrl}/files/${fileId}`;
    const Authorization = `Bearer ${await this.#visa()}`;
    let bytes = 0;
    for (let start = 0; start < directBytes; start += size * atOnce) {
      const jobs = Array.from({ length: atOnce }, (_, index) => start + index * size)
        .filter((from) => from < directBytes)
        .map((from) => ({ url, headers: { Authorization, Range: `bytes=${from}-${from + size - 1}` } }));
      bytes += (await client.run(jobs)).bytes;
    }
    return bytes;
  }

  /** Fill the recipient's part of the outbox. */
  async fill(count: number): Promise<void> {
    const Bucket = this.#connection.outputs.OutboxBucketName;
    let next = 1;
    const worker = async () => {
      while (next < count) {
        const name = `EGAF${String(next).padStart(11, '0')}-listed`;
        next += 1;
        await this.#s3.send(new PutObjectCommand({ Bucket, Key: outboxKey(this.#prefix, name), Body: 'x' }));
      }
    };
    await Promise.all(Array.from({ length: 32 }, worker));
  }

  /** @returns how many containers and receipts a page of the listing has */
  async list(page = 0): Promise<number> {
    const { proxyUrl, archiveUser } = this.#connection;
    const headers = {
      Authorization: basic(archiveUser.username, archiveUser.password),
      'X-GA4GH-Visa': await this.#visa(),
    };
    const reply = await fetch(`${proxyUrl}/files?inbox=false&receipts=true&page=${page}`, { headers });
    return ((await reply.json()) as { files: unknown[] }).files.length;
  }

  /** Orders the file for many keys by the client's batch. @throws Error unless every row is accepted */
  async batch({ fileId }: AddedFile, folder: string): Promise<void> {
    const { proxyUrl, admin } = this.#connection;
    await writeFile(join(folder, 'visa.jwt'), await this.#visa(), { mode: 0o600 });
    const rows: string[] = [];
    for (let row = 0; row < batchRows; row += 1) {
      await writeFile(join(folder, `${row}.pub.pem`), formatPublicKey(generateKeyPair().publicKey));
      rows.push(`${fileId},file,visa.jwt,${row}.pub.pem`);
    }
    await writeFile(join(folder, 'batch.csv'), `id,type,visa,public_key\n${rows.join('\n')}\n`);
    const env = {
      HOME: folder,
      DATA_OUT_URL: proxyUrl,
      DATA_OUT_ADMIN_USERNAME: admin.username,
      DATA_OUT_ADMIN_PASSWORD: admin.password,
    };
    const script = await installedProgram();
    const { exitCode, stderr } = await runClient(['admin', 'export', '--batch', 'batch.csv'], { script, env, folder });
    if (exitCode !== 0) throw new Error(`the batch ended with ${exitCode}: ${stderr}`);
  }

  /** Waits until the outbox has so many files, with receipts. */
  async delivered(count: number): Promise<void> {
    const listed = async () => (await this.list()) + (await this.list(1));
    while ((await listed()) < count) await new Promise((resolve) => setTimeout(resolve, 2000));
  }

  /** The listing by the client, which has too many receipts to read them unasked. @returns milliseconds, also to the first line */
  async listByClient(folder: string): Promise<{ readonly first: number; readonly milliseconds: number }> {
    const { proxyUrl, archiveUser } = this.#connection;
    const env = {
      HOME: folder,
      DATA_OUT_URL: proxyUrl,
      DATA_OUT_VISA: await this.#visa(),
      DATA_OUT_USERNAME: archiveUser.username,
      DATA_OUT_PASSWORD: archiveUser.password,
    };
    const script = await installedProgram();
    let first = 0;
    const started = performance.now();
    const { child, ended } = startClient(['list'], { script, env, folder });
    child.stdout?.once('data', () => {
      first = performance.now() - started;
    });
    const { exitCode, stderr } = await ended;
    const milliseconds = performance.now() - started;
    if (exitCode !== 0) throw new Error(`the listing ended with ${exitCode}: ${stderr}`);
    return { first, milliseconds };
  }

  get #prefix(): string {
    return outboxPrefix({ iss: this.#connection.issuer.iss, sub: this.#subject });
  }

  #visa(): Promise<string> {
    const issuedAt = new Date();
    const expiresAt = new Date(issuedAt.getTime() + 3_600_000);
    const request = { subject: this.#subject, datasetIds: [this.#datasetId], issuedAt, expiresAt };
    return issueVisa(this.#connection.issuer, request);
  }
}

async function timed<T>(task: () => Promise<T>): Promise<{ value: T; milliseconds: number }> {
  const started = performance.now();
  const value = await task();
  return { value, milliseconds: performance.now() - started };
}

/** MiB a second, the best of some rounds: other work of the machine only slows a round down. */
async function throughput(task: () => Promise<number>): Promise<number> {
  let best = 0;
  for (let round = 0; round < rounds; round += 1) {
    const { value, milliseconds } = await timed(task);
    best = Math.max(best, value / mebibyte / (milliseconds / 1000));
  }
  return best;
}

/** A file read to its end. @returns bytes */
async function readWhole(path: string): Promise<number> {
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: mebibyte })) bytes += (chunk as Buffer).length;
  return bytes;
}

/** Median of many calls, in milliseconds. */
async function smallRanges(client: Client, url: string, size: number): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < 51; index += 1) {
    const start = Math.floor((size / 51) * index);
    times.push((await client.run([{ url, headers: { Range: `bytes=${start}-${start + 99}` } }])).milliseconds);
  }
  return median(times);
}

function rate(bytes: number, milliseconds: number): string {
  return `${figure(bytes / mebibyte / (milliseconds / 1000))} MiB/s`;
}

/** Where the processor time of a direct read goes: the names of {@link processesOf}. */
const timedParts = ['engine', 'queues', 'AuthorizeVisa', 'DirectFile'] as const;

/** Processor time in milliseconds, by the name of the process. */
function timesOf(engine: number): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const { name, milliseconds } of processesOf(engine)) times.set(name, (times.get(name) ?? 0) + milliseconds);
  return times;
}

/** Peak memory in bytes: of the engine's process with that of the queues, and of the largest process of a function. */
function memoryOf(engine: number): { readonly own: number; readonly largestFunction: number } {
  const [own, functions] = [true, false].map((isOwn) =>
    processesOf(engine)
      .filter(({ name }) => ['engine', 'queues'].includes(name) === isOwn)
      .map(({ peak }) => peak),
  );
  return { own: (own ?? []).reduce((sum, peak) => sum + peak, 0), largestFunction: Math.max(0, ...(functions ?? [])) };
}
