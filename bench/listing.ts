import { formatBytes, formatDuration } from '../lib/terminal/output.ts';
import { Service } from '../test/helpers/service.ts';
import { figure, type Report, ratio, verdict } from './report.ts';
import { peakMemory } from './worker-memory.ts';

const staged = Number(process.env.BENCH_LISTING_FILES ?? 50_000);
/** Number of puts at once while the outbox is filled. */
const concurrency = 32;

/** `GET /files` of a full page: when the first byte comes, how many pages of S3 it takes, and how much memory. */
export default async function listing(report: Report): Promise<void> {
  const service = await Service.start();
  try {
    const subject = 'bench';
    const fill = performance.now();
    let next = 0;
    const worker = async () => {
      while (next < staged) {
        next += 1;
        await service.putStaged(subject, `EGAF${String(next).padStart(11, '0')}-sample.c4gh`);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    report.text(`Filling an outbox with ${staged} objects took ${formatDuration(performance.now() - fill)}.`);

    const visa = await service.visa({ subject });
    const name = service.engine.functions.definition('files').environment.AWS_LAMBDA_FUNCTION_NAME ?? '';
    const memory: (readonly [string, string])[] = [];
    const remember = (what: string) => {
      const peak = peakMemory(name);
      memory.push([`peak memory after ${what}`, peak === undefined ? 'not known here' : formatBytes(peak)]);
    };
    // Shorter listings first: a peak never falls. They also warm the function up.
    for (const files of [1000, 10_000]) {
      await service.list(visa, `&per_page=${files}`);
      remember(`${files} files`);
    }
    const pages: number[] = [];
    const end = service.engine.traffic.observe(({ caller, action }) => {
      if (caller === 'files' && action === 'ListObjectsV2') pages.push(performance.now());
    });
    const started = performance.now();
    const { firstByte, bytes, files, done } = await read(service, visa);
    end();
    remember(`${files} files`);
    for (const times of [3, 5]) {
      for (let more = 0; more < 2; more += 1) await service.list(visa);
      remember(`${files} files, ${times} times`);
    }
    if (files !== staged) throw new Error(`listed ${files} of ${staged} files`);

    const secondPage = pages[1] ?? Number.NaN;
    report.table(
      ['listing', 'figure'],
      [
        ['files, in pages of S3', `${files} in ${pages.length}`],
        ['first byte after', formatDuration(firstByte - started)],
        ['first page of S3 after', formatDuration((pages[0] ?? Number.NaN) - started)],
        ['second page of S3 after', formatDuration(secondPage - started)],
        ['first byte before the second page', verdict(firstByte < secondPage)],
        ['whole listing', `${formatDuration(done - started)}, ${formatBytes(bytes)}`],
        ['first byte, of the whole time', ratio(firstByte - started, done - started)],
        ['files a second', figure((files * 1000) / (done - started))],
        ...memory,
      ],
    );
  } finally {
    await service.stop();
  }
}

async function read(service: Service, visa: string) {
  const response = await service.get('files?inbox=false', visa);
  if (response.status !== 200 || !response.body) throw new Error(`files answered ${response.status}`);
  let firstByte: number | undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) {
    firstByte ??= performance.now();
    chunks.push(chunk);
  }
  const done = performance.now();
  const text = Buffer.concat(chunks);
  const { files } = JSON.parse(text.toString()) as { files: unknown[] };
  return { firstByte: firstByte ?? Number.NaN, bytes: text.length, files: files.length, done };
}
