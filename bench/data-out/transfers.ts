import type { AddedFile } from '../../lib/ops/archive/add-file.ts';
import { figure, median, type Report, ratio } from '../report.ts';
import type { Fetch } from './client-process.ts';
import type { Stage } from './stage.ts';

const rounds = Number(process.env.DATA_OUT_BENCH_ROUNDS ?? 3);
const parallelRanges = 64;
const maxRangeBytes = 5 * 2 ** 20;
const mebibyte = 2 ** 20;

/** A line of the table: the requests of a client to this service and to S3. */
interface Line {
  readonly name: string;
  readonly job: () => readonly Fetch[];
  readonly raw: readonly Fetch[];
}

/** How fast files come, beside the cipher alone and beside the archived body of the same file, raw from S3. */
export async function transfers(
  report: Report,
  stage: Stage,
  files: { readonly small: AddedFile; readonly large: AddedFile },
  cipher: number | undefined,
): Promise<void> {
  const { small, large } = files;
  const [rawSmall, rawLarge] = [await stage.raw(small), await stage.raw(large)];
  const middle = Math.floor(large.decryptedSize / 2);
  const oneMebibyte = range(middle, middle + mebibyte);
  const ranges = splitRanges(large.decryptedSize);
  const whole = (request: Fetch) => () => [request];
  const again = stage.container(large);
  const lines: readonly Line[] = [
    { name: `plaintext, ${megabytes(large.decryptedSize)} MB`, job: whole(stage.file(large)), raw: [rawLarge] },
    {
      name: 'plaintext, a range of 1 MiB',
      job: whole(stage.file(large, '', oneMebibyte)),
      raw: [{ ...rawLarge, headers: oneMebibyte }],
    },
    {
      name: `plaintext, ${ranges.length} parallel ranges`,
      job: () => ranges.map((headers) => stage.file(large, '', headers)),
      raw: ranges.map((headers) => ({ ...rawLarge, headers })),
    },
    {
      name: `container, streamed, ${megabytes(small.archivedSize)} MB`,
      job: () => [stage.container(small)],
      raw: [rawSmall],
    },
    {
      name: `container, assembled, ${megabytes(large.archivedSize)} MB`,
      job: () => [stage.container(large)],
      raw: [rawLarge],
    },
    { name: 'the same container once more', job: whole(again), raw: [rawLarge] },
  ];
  // This makes the last line's container, and warms up the client and each process of the function.
  await stage.client.run([again, rawLarge]);
  for (let times = 0; times < 2; times += 1) for (const { job } of lines) await stage.client.run(job().slice(0, 16));
  const rows: string[][] = [];
  for (const line of lines) rows.push(await measure(stage, line, cipher));
  report.text(
    `Each line is the middle one of ${rounds} rounds, the service and S3 in turn.` +
      (cipher === undefined
        ? ' There is no `openssl` on this machine to tell the speed of the cipher.'
        : ` The cipher alone (\`openssl speed\`, one thread): ${megabytes(cipher)} MB/s.`),
  );
  report.table(
    [
      '',
      'first byte, ms',
      'S3 raw, ms',
      'ratio',
      'MB/s',
      'S3 raw, MB/s',
      'ratio',
      'of the cipher',
      'MB per CPU second of the function',
      'of the cipher',
    ],
    rows,
  );
}

async function measure(stage: Stage, { name, job, raw }: Line, cipher: number | undefined): Promise<string[]> {
  const ours: { first: number; speed: number }[] = [];
  const theirs: { first: number; speed: number }[] = [];
  let bytes = 0;
  let cpu = 0;
  for (let round = 0; round < rounds; round += 1) {
    const served = await stage.measured(job(), 'direct-file');
    ours.push({ first: served.firstByteMs, speed: bytesPerSecond(served) });
    bytes += served.bytes;
    cpu += served.cpu ?? 0;
    const stored = await stage.client.run(raw);
    theirs.push({ first: stored.firstByteMs, speed: bytesPerSecond(stored) });
  }
  const [first, rawFirst] = [median(ours.map((one) => one.first)), median(theirs.map((one) => one.first))];
  const [speed, rawSpeed] = [median(ours.map((one) => one.speed)), median(theirs.map((one) => one.speed))];
  const share = (value: number) => (cipher === undefined ? '' : `${figure((100 * value) / cipher)} %`);
  // The system counts hundredths of a second, which is too coarse for short runs.
  const isTold = cpu > 0.2;
  return [
    name,
    figure(first),
    figure(rawFirst),
    ratio(first, rawFirst),
    megabytes(speed),
    megabytes(rawSpeed),
    ratio(speed, rawSpeed),
    share(speed),
    isTold ? megabytes(bytes / cpu) : '',
    isTold ? share(bytes / cpu) : '',
  ];
}

/** The file in ranges, none larger than 5 MiB. */
function splitRanges(size: number): readonly Readonly<Record<string, string>>[] {
  const step = Math.min(maxRangeBytes, Math.ceil(size / parallelRanges));
  return Array.from({ length: Math.min(parallelRanges, Math.ceil(size / step)) }, (_, index) =>
    range(index * step, Math.min(size, (index + 1) * step)),
  );
}

function range(start: number, end: number): Readonly<Record<string, string>> {
  return { Range: `bytes=${start}-${end - 1}` };
}

function bytesPerSecond({ bytes, milliseconds }: { readonly bytes: number; readonly milliseconds: number }): number {
  return (bytes * 1000) / milliseconds;
}

function megabytes(bytes: number): string {
  return figure(bytes / 1e6);
}
