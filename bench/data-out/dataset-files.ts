import type { AwsCall } from '../../lib/local/endpoint/traffic.ts';
import { formatBytes, formatDuration } from '../../lib/terminal/output.ts';
import { until } from '../../test/helpers/service.ts';
import { figure, type Report, verdict } from '../report.ts';
import type { Stage } from './stage.ts';

const largest = Number(process.env.DATA_OUT_BENCH_FILES ?? 100_000);
/** The database of the local engine runs in the engine's own process and keeps it busy. A remote one would not. */
const pageMs = 20;
const sizes = [1000, 10_000, largest].filter((files) => files <= largest);

/**
 * `GET /metadata/datasets/{datasetId}/files` of large datasets: when the first byte comes, and what memory it takes.
 */
export async function datasetFiles(report: Report, stage: Stage): Promise<void> {
  const rows: string[][] = [];
  for (const [index, files] of sizes.entries()) {
    const datasetId = `EGAD9000000000${index}`;
    await fill(stage, datasetId, 1000 + index, files);
    const visa = await stage.service.visa({ datasetId, subject: 'bench' });
    rows.push([String(files), ...(await list(stage, datasetId, visa, files))]);
    if (files !== largest) continue;
    for (let more = 0; more < 2; more += 1) {
      rows.push([`${files}, once more`, ...(await list(stage, datasetId, visa, files))]);
    }
  }
  report.text(`Every page of the database is held back by ${pageMs} ms.`);
  report.table(
    [
      'files listed',
      'pages of the database',
      'first byte',
      'end of the second page',
      'first byte before it',
      'whole',
      'files a second',
      'peak memory',
    ],
    rows,
  );
}

/** Files without bodies: a listing does not read them. */
async function fill({ service }: Stage, datasetId: string, id: number, files: number): Promise<void> {
  await service.sql(`insert into sda.datasets (id, stable_id) values (${id}, '${datasetId}')`);
  await service.sql(`insert into sda.files (stable_id, submission_file_path, archive_file_path, archive_file_size, header)
    select 'EGAF${id}' || to_char(n, 'FM0000000'), 'study/sample ' || n || '.vcf.gz', '${datasetId}', n, '00'
    from generate_series(1, ${files}) n`);
  await service.sql(`insert into sda.file_dataset (file_id, dataset_id)
    select id, ${id} from sda.files where archive_file_path = '${datasetId}'`);
  await service.sql('analyze sda.files, sda.file_dataset');
  await service.setDataset(datasetId, 'released');
}

async function list(stage: Stage, datasetId: string, visa: string, files: number): Promise<string[]> {
  const { service } = stage;
  const pages: number[] = [];
  const { traffic } = service.engine;
  const stopLooking = traffic.observe((call) => {
    if (isPage(call)) pages.push(performance.timeOrigin + performance.now());
  });
  const stopDelaying = traffic.addFault((call) => (isPage(call) ? { delayMs: pageMs } : undefined));
  const linesBefore = service.logs.length;
  const { bytes, firstByteMs, firstByteAt, milliseconds } = await stage.client.run([stage.listing(datasetId, visa)]);
  stopDelaying();
  stopLooking();
  await until(
    () => service.logs.slice(linesBefore).find(({ line }) => line.includes(`"rows":${files}`)),
    `the log line of a listing of ${files} files`,
  );
  const second = (pages[1] ?? Number.NaN) - firstByteAt + firstByteMs;
  const peak = stage.peakMemory('datasets');
  return [
    String(pages.length),
    formatDuration(firstByteMs),
    formatDuration(second),
    verdict(firstByteMs < second),
    `${formatDuration(milliseconds)}, ${formatBytes(bytes)}`,
    figure((files * 1000) / milliseconds),
    peak === undefined ? 'not known here' : formatBytes(peak),
  ];
}

function isPage({ caller, input }: AwsCall): boolean {
  return caller === 'datasets' && String(input?.sql).includes('row_number');
}
