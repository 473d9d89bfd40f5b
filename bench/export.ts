import { setTimeout as pause } from 'node:timers/promises';
import { CopyObjectCommand } from '@aws-sdk/client-s3';
import { generateKeyPair } from '../lib/crypt4gh/index.ts';
import { formatBytes, formatDuration } from '../lib/terminal/output.ts';
import { Service } from '../test/helpers/service.ts';
import { peakMemory } from '../test/helpers/worker-memory.ts';
import { atLeast, atMost, figure, type Report, ratio } from './report.ts';

const largeBytes = Number(process.env.BENCH_EXPORT_MIB ?? 1024) * 2 ** 20;
const files = Number(process.env.BENCH_EXPORT_FILES ?? 2000);
const smallBytes = 2048;

/**
 * What an export costs the functions: a dataset of many small files, then one large file beside one `CopyObject` of its container.
 * The local engine's seconds are those of this machine; its calls and bytes are those of AWS.
 */
export default async function exportSuite(report: Report): Promise<void> {
  const service = await Service.start();
  try {
    await smallFiles(service, report);
    await largeFile(service, report);
  } finally {
    await service.stop();
  }
}

async function smallFiles(service: Service, report: Report): Promise<void> {
  const datasetId = 'EGAD-small';
  await makeDataset(service, datasetId);
  const seconds = await staged(service, datasetId, files);
  const perSecond = files / seconds;
  const of = (names: RegExp) => trafficOf(service, names).calls / files;
  const [dataApi, s3] = [of(/^(consume-export|stage-file) rds-data /), of(/^stage-file s3 /)];
  const dataset = `${files} files of ${formatBytes(smallBytes)}`;
  report.headline({
    what: `${dataset}: files a second`,
    value: figure(perSecond),
    target: atLeast(perSecond, 100),
  });
  report.headline({
    what: `${dataset}: Data API calls per file`,
    value: figure(dataApi),
    target: atMost(dataApi, 0.3),
  });
  report.headline({ what: `${dataset}: S3 calls per file`, value: figure(s3), target: atMost(s3, 3) });
  const { AWS_LAMBDA_FUNCTION_NAME: name = '' } = service.engine.functions.definition('stage-file').environment;
  const peak = peakMemory(name);
  report.text(`Peak memory of StageFile: ${peak === undefined ? 'not known here' : formatBytes(peak)}.`);
}

/** One archived file, and rows of the catalogue that name its body: what staging costs does not depend on the bytes. */
async function makeDataset(service: Service, datasetId: string): Promise<void> {
  await service.archive(datasetId, 'small-0.bin', smallBytes, 'EGAF-small-0');
  await service.sql(
    `insert into sda.files (stable_id, submission_file_path, archive_file_path, archive_file_size, header, key_hash)
     select 'EGAF-small-' || n, 'small-' || n || '.bin', archive_file_path, archive_file_size, header, key_hash
     from sda.files, generate_series(1, ${files - 1}) n where stable_id = 'EGAF-small-0'`,
  );
  await service.sql(
    `insert into sda.file_dataset (file_id, dataset_id)
     select f.id, d.id from sda.files f, sda.datasets d
     where f.stable_id like 'EGAF-small-%' and d.stable_id = '${datasetId}' on conflict do nothing`,
  );
  await service.setDataset(datasetId, 'released');
}

async function largeFile(service: Service, report: Report): Promise<void> {
  const datasetId = 'EGAD-large';
  await service.archive(datasetId, 'large.bin', largeBytes);
  await service.setDataset(datasetId, 'released');
  const seconds = await staged(service, datasetId, 1);
  const { received, sent } = trafficOf(service, /^stage-file /);
  const share = (Math.max(received, sent) / largeBytes) * 100;
  const size = formatBytes(largeBytes);
  report.headline({
    what: `one file of ${size}: bytes that pass through the function, in each direction`,
    value: `${figure(share)} %`,
    target: atMost(share, 0.5, ' %'),
  });
  const copySeconds = await plainCopy(service, datasetId);
  report.text(
    `From the request to the last audit row ${formatDuration(seconds * 1000)}, which is ${ratio(seconds, copySeconds)} of one ` +
      '`CopyObject` of the container.',
  );
}

/** Exports a dataset, and counts the traffic of it alone. @returns seconds from the request to the last audit row */
async function staged(service: Service, datasetId: string, count: number): Promise<number> {
  const visa = await service.visa({ datasetId, subject: datasetId });
  const { publicKey } = generateKeyPair();
  service.engine.traffic.resetCounters();
  const started = performance.now();
  const requestId = await service.exported({ id: datasetId, visa, publicKey });
  const rows = `select count(*) from data_out.export_log where request_id = '${requestId}' and event = 'staged'`;
  while (Number((await service.sql(rows))[0]?.[0]) < count) await pause(20);
  return (performance.now() - started) / 1000;
}

/** The counters are the services': a caller has sent what comes in there. */
function trafficOf(service: Service, names: RegExp) {
  const counters = Object.entries(service.engine.traffic.counters()).filter(([name]) => names.test(name));
  const sum = (name: 'calls' | 'bytesIn' | 'bytesOut') =>
    counters.reduce((total, [, counter]) => total + counter[name], 0);
  return { calls: sum('calls'), sent: sum('bytesIn'), received: sum('bytesOut') };
}

/** The staged container, copied within the outbox by one request. @returns seconds */
async function plainCopy(service: Service, subject: string): Promise<number> {
  const Bucket = service.connection.outputs.OutboxBucketName;
  const [key = ''] = (await service.outboxKeys(subject)).filter((name) => name.endsWith('.c4gh'));
  const started = performance.now();
  await service.s3.send(new CopyObjectCommand({ Bucket, Key: `${key}.copy`, CopySource: `${Bucket}/${key}` }));
  return (performance.now() - started) / 1000;
}
