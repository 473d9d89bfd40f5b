import { setTimeout as pause } from 'node:timers/promises';
import { generateKeyPair } from '../lib/crypt4gh/index.ts';
import { formatBytes, formatDuration } from '../lib/terminal/output.ts';
import type { Service } from '../test/helpers/service.ts';
import { figure, type Report, verdict } from './report.ts';
import { peakMemory } from './worker-memory.ts';

const files = Number(process.env.BENCH_EXPORT_FILES ?? 2000);
const plaintextBytes = 2048;
const datasetId = 'EGAD-small';
const targets = { filesPerSecond: 100, dataApi: 0.3, s3: 3 };

/** How fast a dataset of small files is staged, and which calls each file costs. The functions start cold. */
export async function smallFiles(service: Service, report: Report): Promise<void> {
  await makeDataset(service);
  const visa = await service.visa({ datasetId, subject: 'small' });
  const { publicKey } = generateKeyPair();
  service.engine.traffic.resetCounters();
  const started = performance.now();
  const requestId = await service.exported({ id: datasetId, visa, publicKey });
  while ((await stagedOf(service, requestId)) < files) await pause(20);
  const milliseconds = performance.now() - started;
  const counters = Object.entries(service.engine.traffic.counters());
  const calls = (names: RegExp) =>
    counters.filter(([name]) => names.test(name)).reduce((sum, [, counter]) => sum + counter.calls, 0) / files;
  const [dataApi, s3] = [calls(/^(consume-export|stage-file) rds-data /), calls(/^stage-file s3 /)];
  const perSecond = (files * 1000) / milliseconds;
  const { AWS_LAMBDA_FUNCTION_NAME: name = '' } = service.engine.functions.definition('stage-file').environment;
  const peak = peakMemory(name);
  report.table(
    [`${files} files of ${formatBytes(plaintextBytes)}, from request to last audit row`, 'figure', 'target', ''],
    [
      ['time', formatDuration(milliseconds), '', ''],
      [
        'files a second',
        figure(perSecond),
        `≥ ${targets.filesPerSecond}`,
        verdict(perSecond >= targets.filesPerSecond),
      ],
      ['Data API calls per file', figure(dataApi), `≤ ${targets.dataApi}`, verdict(dataApi <= targets.dataApi)],
      ['S3 calls per file', figure(s3), `≤ ${targets.s3}`, verdict(s3 <= targets.s3)],
      ['SQS calls of functions a file', figure(calls(/^(consume-export|stage-file) sqs /)), '', ''],
      ['peak memory of stage-file', peak === undefined ? 'not known here' : formatBytes(peak), '', ''],
    ],
  );
}

/** One archived file, and rows of the catalogue that name its body: what staging costs does not depend on the bytes. */
async function makeDataset(service: Service): Promise<void> {
  await service.archive(datasetId, 'small-0.bin', plaintextBytes, 'EGAF-small-0');
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

async function stagedOf(service: Service, requestId: string): Promise<number> {
  const [row] = await service.sql(
    `select count(*) from data_out.export_log where request_id = '${requestId}' and event = 'staged'`,
  );
  return Number(row?.[0]);
}
