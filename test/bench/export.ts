import { CopyObjectCommand } from '@aws-sdk/client-s3';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { formatBytes, formatDuration } from '../../lib/terminal/output.ts';
import { Service } from '../helpers/service.ts';
import { figure, type Report, ratio, verdict } from './report.ts';
import { smallFiles } from './small-files.ts';
import { peakMemory } from './worker-memory.ts';

const target = 0.005;
const largeBytes = Number(process.env.BENCH_EXPORT_MIB ?? 1024) * 2 ** 20;

interface Staged {
  readonly containerBytes: number;
  /** Bodies of all requests that the function sent, and of all replies that it got, to and from any service. */
  readonly sent: number;
  readonly received: number;
  /** The invocation as Lambda would bill it, without initialisation. */
  readonly milliseconds: number;
  readonly peakMemory: number | undefined;
}

/**
 * What an export costs the function that stages it, its time beside a plain copy of the same bytes by S3, and what a
 * dataset of small files takes.
 */
export default async function exportSuite(report: Report): Promise<void> {
  const service = await Service.start();
  try {
    const sizes = [1000, largeBytes];
    await smallFiles(service, report);
    const staged: Staged[] = [];
    for (const size of sizes) staged.push(await stage(service, size));
    // Both ways of S3 to copy, warmed up by the export.
    const copyMs = await plainCopy(service, largeBytes);
    report.table(
      ['plaintext', 'container', 'in, per exported byte', 'out, per exported byte', 'each ≤ 0.5 %', 'peak memory'],
      staged.map(({ containerBytes, sent, received, peakMemory }, index) => {
        const [into, out] = [received / containerBytes, sent / containerBytes];
        const isLarge = index === sizes.length - 1;
        return [
          formatBytes(sizes[index] ?? 0),
          `${containerBytes} B`,
          isLarge ? `${figure(into * 100)} %` : formatBytes(received),
          isLarge ? `${figure(out * 100)} %` : formatBytes(sent),
          isLarge ? verdict(into <= target && out <= target) : '',
          peakMemory === undefined ? 'not known here' : formatBytes(peakMemory),
        ];
      }),
    );
    const largest = staged.at(-1)?.milliseconds ?? Number.NaN;
    report.table(
      [`${formatBytes(largeBytes)}, on the local engine`, 'time', '× plain copy'],
      [
        ['stage-file, whole invocation', formatDuration(largest), ratio(largest, copyMs)],
        ['(CopyObject by the operator)', formatDuration(copyMs), '1'],
      ],
    );
  } finally {
    await service.stop();
  }
}

async function stage(service: Service, size: number): Promise<Staged> {
  const datasetId = `EGAD${size}`;
  await service.archive(datasetId, `made-${size}.bin`, size);
  await service.setDataset(datasetId, 'released');
  const visa = await service.visa({ datasetId, subject: 'bench' });
  const { publicKey } = generateKeyPair();
  service.engine.traffic.resetCounters();
  const linesBefore = service.logs.length;
  const rows = await service.settled(await service.exported({ id: datasetId, visa, publicKey }), 1, 600_000);
  const counters = Object.entries(service.engine.traffic.counters()).filter(([key]) => key.startsWith('stage-file '));
  const sum = (way: 'bytesIn' | 'bytesOut') => counters.reduce((bytes, [, counter]) => bytes + counter[way], 0);
  return {
    containerBytes: rows.at(-1)?.bytes ?? 0,
    // The counters are the services': the function has sent what comes in there.
    sent: sum('bytesIn'),
    received: sum('bytesOut'),
    milliseconds: await durationOf(service, linesBefore),
    peakMemory: peakMemory(stageFileName(service)),
  };
}

function stageFileName(service: Service): string {
  return service.engine.functions.definition('stage-file').environment.AWS_LAMBDA_FUNCTION_NAME ?? '';
}

/** The report that ends the invocation follows the audit row by a moment. */
async function durationOf(service: Service, linesBefore: number): Promise<number> {
  for (;;) {
    const line = service.logs
      .slice(linesBefore)
      .find(({ functionName, line }) => functionName === 'stage-file' && line.includes('platform.report'));
    if (line)
      return (JSON.parse(line.line) as { record: { metrics: { durationMs: number } } }).record.metrics.durationMs;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The staged container of that size, copied within the outbox by one request. @returns milliseconds */
async function plainCopy(service: Service, size: number): Promise<number> {
  const Bucket = service.connection.outputs.OutboxBucketName;
  const [key = ''] = (await service.outboxKeys('bench')).filter((name) => name.includes(`made-${size}.bin`));
  const started = performance.now();
  await service.s3.send(new CopyObjectCommand({ Bucket, Key: `${key}.copy`, CopySource: `${Bucket}/${key}` }));
  return performance.now() - started;
}
