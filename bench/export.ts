import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CopyObjectCommand, GetObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import { generateKeyPair } from '../lib/crypt4gh/index.ts';
import { workersPerFunction } from '../lib/local/lambda/functions.ts';
import { formatBytes, formatDuration } from '../lib/terminal/output.ts';
import { Service } from '../test/helpers/service.ts';
import { secondsToStage } from './capacity-formula.ts';
import { figure, type Report, ratio, verdict } from './report.ts';
import { smallFiles } from './small-files.ts';
import type { StraightCopyInput, StraightCopyOutput } from './straight-copy.ts';
import { peakMemory, processorTime } from './worker-memory.ts';

const target = 0.005;
const largeBytes = Number(process.env.BENCH_EXPORT_MIB ?? 1024) * 2 ** 20;
const sizes = [1000, 1_000_000, 100_000_000, largeBytes];
const warmUpBytes = 999;
const delayedFiles = Number(process.env.BENCH_EXPORT_DELAYED ?? 200);

/** What one way to stage one file cost. Times in milliseconds. */
export interface Cost {
  readonly milliseconds: number;
  readonly cpuMilliseconds: number;
  /** Bodies of all replies to the process, and of all its requests, to and from any service. */
  readonly received: number;
  readonly sent: number;
  readonly peakMemory: number | undefined;
  readonly calls: number;
}

/** One size: the service's function, and the straight implementation. */
export interface Compared {
  readonly plaintextBytes: number;
  readonly containerBytes: number;
  readonly staged: Cost;
  readonly straight: Cost;
}

/**
 * What an export costs the function that stages it. Beside it a straight implementation of the same on the same endpoint, one
 * `CopyObject` by S3, what a dataset of small files takes, and the formula of `capacity-formula.ts` against an export of many files.
 */
export default async function exportSuite(report: Report): Promise<void> {
  await inService((service) => smallFiles(service, report));
  // Another service: the peak of a process that has staged ten files at once never falls again.
  await inService(async (service) => {
    // Starts the function and opens its connections, which no size should pay for.
    await stage(service, warmUpBytes);
    const compared: Compared[] = [];
    for (const size of sizes) compared.push(await compare(service, size));
    if (process.env.BENCH_EXPORT_JSON)
      writeFileSync(process.env.BENCH_EXPORT_JSON, `${JSON.stringify(compared, null, 2)}\n`);
    report.table(
      ['plaintext', 'by', 'time', 'CPU', 'in', 'out', 'peak memory', 'calls'],
      compared.flatMap(({ plaintextBytes, staged, straight }) => [
        [formatBytes(plaintextBytes), '`stage-file`', ...cells(staged)],
        ['', '(straight)', ...cells(straight)],
        ['', 'ratio', ...ratios(staged, straight)],
      ]),
    );
    reportLargest(report, compared.at(-1), await plainCopy(service, largeBytes));
    await reportMany(report, service);
  });
}

async function inService(work: (service: Service) => Promise<void>): Promise<void> {
  const service = await Service.start();
  try {
    await work(service);
  } finally {
    await service.stop();
  }
}

function cells({ milliseconds, cpuMilliseconds, received, sent, peakMemory, calls }: Cost): readonly string[] {
  return [
    ...[milliseconds, cpuMilliseconds].map(formatDuration),
    ...[received, sent].map(formatBytes),
    peakMemory === undefined ? 'not known here' : formatBytes(peakMemory),
    String(calls),
  ];
}

function ratios(staged: Cost, straight: Cost): readonly string[] {
  const names = ['milliseconds', 'cpuMilliseconds', 'received', 'sent', 'peakMemory', 'calls'] as const;
  return names.map((name) => ratio(staged[name] ?? Number.NaN, straight[name] ?? Number.NaN));
}

function reportLargest(report: Report, largest: Compared | undefined, copyMs: number): void {
  if (!largest) return;
  const { containerBytes, staged, straight } = largest;
  const shares = [staged.received, staged.sent].map((bytes) => bytes / containerBytes);
  report.table(
    [`${formatBytes(largeBytes)}, on the local engine`, 'figure', '× plain copy'],
    [
      ['`stage-file`, whole invocation', formatDuration(staged.milliseconds), ratio(staged.milliseconds, copyMs)],
      ['(straight)', formatDuration(straight.milliseconds), ratio(straight.milliseconds, copyMs)],
      ['(`CopyObject` by the operator)', formatDuration(copyMs), '1'],
      ['in, out, per exported byte', shares.map((share) => `${figure(share * 100)} %`).join(', '), ''],
      ['each ≤ 0.5 %', verdict(shares.every((share) => share <= target)), ''],
    ],
  );
}

async function compare(service: Service, size: number): Promise<Compared> {
  const { containerBytes, cost } = await stage(service, size);
  const straight = await copyStraight(service, size);
  return { plaintextBytes: size, containerBytes, staged: cost, straight };
}

async function stage(service: Service, size: number) {
  const datasetId = `EGAD${size}`;
  await service.archive(datasetId, `made-${size}.bin`, size);
  await service.setDataset(datasetId, 'released');
  const visa = await service.visa({ datasetId, subject: 'bench' });
  const { publicKey } = generateKeyPair();
  const name = stageFileName(service);
  const cpuBefore = processorTime(name) ?? 0;
  service.engine.traffic.resetCounters();
  const linesBefore = service.logs.length;
  const rows = await service.settled(await service.exported({ id: datasetId, visa, publicKey }), 1, 600_000);
  const [milliseconds = Number.NaN] = await durationsOf(service, linesBefore, 1);
  const cost: Cost = {
    milliseconds,
    cpuMilliseconds: ((processorTime(name) ?? Number.NaN) - cpuBefore) * 1000,
    ...trafficOf(service, (key) => key.startsWith('stage-file ')),
    peakMemory: peakMemory(name),
  };
  return { containerBytes: rows.at(-1)?.bytes ?? 0, cost };
}

/** The counters are the services': a caller has sent what comes in there. */
function trafficOf(service: Service, isMeant: (key: string) => boolean) {
  const counters = Object.entries(service.engine.traffic.counters()).filter(([key]) => isMeant(key));
  const sum = (name: 'calls' | 'bytesIn' | 'bytesOut') =>
    counters.reduce((total, [, counter]) => total + counter[name], 0);
  return { calls: sum('calls'), sent: sum('bytesIn'), received: sum('bytesOut') };
}

/** The same container once more, by the straight implementation in its own process. */
async function copyStraight(service: Service, size: number): Promise<Cost> {
  const child = fork(join(import.meta.dirname, 'straight-copy.ts'));
  try {
    const copy = async (input: StraightCopyInput) => {
      child.send(input);
      const [output] = (await once(child, 'message')) as [StraightCopyOutput];
      return output;
    };
    await copy(await straightInput(service, warmUpBytes));
    const input = await straightInput(service, size);
    service.engine.traffic.resetCounters();
    const output = await copy(input);
    const traffic = trafficOf(service, (key) => key.includes(' s3 '));
    const { ContentLength } = await service.s3.send(new HeadObjectCommand(input.target));
    if (ContentLength !== input.containerBytes) throw new Error('the straight copy differs in size');
    return { ...output, ...traffic };
  } finally {
    child.kill();
  }
}

async function straightInput(service: Service, size: number) {
  const { region, credentials, endpoints, outputs } = service.connection;
  const [[path = '', bodySize] = []] = await service.sql(
    `select archive_file_path, archive_file_size from sda.files where submission_file_path like '%made-${size}.bin%'`,
  );
  const staged = { Bucket: outputs.OutboxBucketName, Key: await stagedKey(service, size) };
  const { ContentLength: containerBytes = 0 } = await service.s3.send(new HeadObjectCommand(staged));
  const Range = `bytes=0-${containerBytes - Number(bodySize) - 1}`;
  const { Body } = await service.s3.send(new GetObjectCommand({ ...staged, Range }));
  return {
    ...{ endpoint: endpoints.s3, region, credentials, containerBytes },
    source: { Bucket: outputs.ArchiveBucketName, Key: path ?? '' },
    target: { ...staged, Key: `${staged.Key}.straight` },
    header: (await Body?.transformToString('base64')) ?? '',
  };
}

function stageFileName(service: Service): string {
  return service.engine.functions.definition('stage-file').environment.AWS_LAMBDA_FUNCTION_NAME ?? '';
}

/**
 * The invocations as Lambda would bill them, without initialisation, in milliseconds. The report that ends an invocation follows
 * the audit row by a moment.
 */
async function durationsOf(service: Service, linesBefore: number, count: number): Promise<readonly number[]> {
  for (;;) {
    const lines = service.logs
      .slice(linesBefore)
      .filter(({ functionName, line }) => functionName === 'stage-file' && line.includes('platform.report'));
    if (lines.length >= count) {
      return lines.map(
        ({ line }) => (JSON.parse(line) as { record: { metrics: { durationMs: number } } }).record.metrics.durationMs,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function stagedKey(service: Service, size: number): Promise<string> {
  const [key = ''] = (await service.outboxKeys('bench')).filter((name) => name.endsWith(`made-${size}.bin.c4gh`));
  return key;
}

/** The staged container of that size, copied within the outbox by one request. @returns milliseconds */
async function plainCopy(service: Service, size: number): Promise<number> {
  const Bucket = service.connection.outputs.OutboxBucketName;
  const key = await stagedKey(service, size);
  const started = performance.now();
  await service.s3.send(new CopyObjectCommand({ Bucket, Key: `${key}.copy`, CopySource: `${Bucket}/${key}` }));
  return performance.now() - started;
}

/**
 * Many small files in one export, and the formula beside it. Two cores would be the limit rather than concurrency, so a second
 * export waits in each call of the database, as it would wait for AWS.
 */
async function reportMany(report: Report, service: Service): Promise<void> {
  const datasetId = 'EGADmany';
  for (let index = 0; index < delayedFiles; index += 1) await service.archive(datasetId, `small-${index}.bin`, 1000);
  await service.setDataset(datasetId, 'released');
  const { publicKey } = generateKeyPair();
  const exportTo = async (subject: string) => {
    const visa = await service.visa({ datasetId, subject });
    service.engine.traffic.resetCounters();
    const linesBefore = service.logs.length;
    const started = performance.now();
    await service.settled(await service.exported({ id: datasetId, visa, publicKey }), delayedFiles, 600_000);
    const seconds = (performance.now() - started) / 1000;
    const durations = await durationsOf(service, linesBefore, 1);
    const mean = durations.reduce((sum, duration) => sum + duration, 0) / durations.length / 1000;
    return { seconds, invocations: durations.length, secondsPerInvocation: mean };
  };
  await exportTo('warm-up');
  const plain = await exportTo('many');
  const callsOf = (name: string) =>
    trafficOf(service, (key) => key.startsWith(`stage-file ${name}`)).calls / delayedFiles;
  const [s3, dataApi] = [callsOf('s3'), callsOf('rds-data')];
  const restore = service.engine.traffic.addFault(({ caller, service }) =>
    caller === 'stage-file' && service === 'rds-data' ? { delayMs: 1000 } : undefined,
  );
  const delayed = await exportTo('delayed');
  restore();
  const predicted = predictedSeconds(delayed);
  report.table(
    [`${delayedFiles} files of 1 KB in one export`, 'figure'],
    [
      ['from the request to the last audit row', formatDuration(plain.seconds * 1000)],
      ['files a second', figure(delayedFiles / plain.seconds)],
      ['S3 calls, Data API calls per file', `${figure(s3)}, ${figure(dataApi)}`],
      ['the same export, each Data API call 1 s later', formatDuration(delayed.seconds * 1000)],
      ['its invocations, mean time', `${delayed.invocations}, ${formatDuration(delayed.secondsPerInvocation * 1000)}`],
      ['the formula', formatDuration(predicted * 1000)],
      ['measured / formula', ratio(delayed.seconds, predicted)],
    ],
  );
}

/** The formula for the engine, which has no quota but the processes of a function, fewer than the settings allow, and no ramp. */
function predictedSeconds(measured: { readonly invocations: number; readonly secondsPerInvocation: number }): number {
  const free = Number.POSITIVE_INFINITY;
  return secondsToStage(
    {
      files: delayedFiles,
      filesPerInvocation: delayedFiles / measured.invocations,
      secondsPerInvocation: measured.secondsPerInvocation,
      callsPerFile: { s3Writes: 1, s3Reads: 3, dataApi: 2, kms: 0 },
    },
    {
      concurrency: workersPerFunction,
      ramp: { start: workersPerFunction, perSecond: 1 },
      ...{ s3Writes: free, s3Reads: free, prefixes: 1, sqsInFlight: free, dataApi: free, kms: free },
    },
  ).concurrency;
}
