import { transferCalls } from '../lib/ops/cost/staging.ts';
import { formatDuration } from '../lib/terminal/output.ts';
import { binding, type Quotas, type Seconds, secondsToStage, type Work } from './capacity-formula.ts';
import { figure, type Report } from './report.ts';

/** AWS's quotas as documented; the sources are in docs/benchmarks.md. */
const documented = {
  ramp: { start: 5, perSecond: 300 / 60 },
  s3Writes: 3500,
  s3Reads: 5500,
  prefixes: 1,
  sqsInFlight: 120_000,
  dataApi: Number.POSITIVE_INFINITY,
  kms: 10_000,
};

/**
 * Seconds of one call in AWS. Those of S3 and of a copy are assumptions, because AWS states none; a deployment measures them.
 * That of the Data API was measured by others.
 */
const assumed = { s3: 0.05, dataApi: 0.1, copyOfAPart: 1 };
/** Parts of one file that S3 copies at once, as in `lib/service/archive/write-container.ts`. */
const copiesInFlight = 32;
/** S3 calls for which a bucket key still asks KMS. */
const kmsShare = 0.01;

/** S3 reads beside those that move bytes: what the outbox has, what the archive has, and the result. */
const lookUps = 3;
/** Statements for one large file: find the row, write the upload id, ask again whether it is due, record the end. */
const dataApiOfACopy = 4;

/** Large files, one an invocation. */
export function oneByOne(files: number, bodySize: number, dataApi: number): Work {
  const { s3Writes, s3Reads: moving, copies } = transferCalls(bodySize);
  const s3Reads = moving + lookUps;
  const inTurn = s3Writes - copies + s3Reads;
  return {
    files,
    filesPerInvocation: 1,
    secondsPerInvocation:
      dataApi * assumed.dataApi + inTurn * assumed.s3 + Math.ceil(copies / copiesInFlight) * assumed.copyOfAPart,
    callsPerFile: { s3Writes, s3Reads, dataApi, kms: (s3Writes + s3Reads) * kmsShare },
  };
}

/** Small files that are staged ten at a time: their S3 calls go side by side, the Data API is asked for all at once. */
export function tenAtOnce(files: number, s3PerFile: number, dataApiPerFile: number): Work {
  return {
    files,
    filesPerInvocation: 10,
    secondsPerInvocation: 10 * dataApiPerFile * assumed.dataApi + s3PerFile * assumed.s3,
    callsPerFile: { s3Writes: 1, s3Reads: s3PerFile - 1, dataApi: dataApiPerFile, kms: s3PerFile * kmsShare },
  };
}

const tenMillion = 10_000_000;
const workloads: readonly (readonly [string, Work, number])[] = [
  ['1 PB, 10 M files of 100 MB', oneByOne(tenMillion, 100_000_000, dataApiOfACopy), 10],
  ['the same', oneByOne(tenMillion, 100_000_000, dataApiOfACopy), 1000],
  ['1 PB, 1,000 files of 1 TB', oneByOne(1000, 1_000_000_000_000, dataApiOfACopy), 10],
  ['10 M files of 1 MB', tenAtOnce(tenMillion, 2, 0.2), 10],
  ['the same', tenAtOnce(tenMillion, 2, 0.2), 1000],
];

const labels: Readonly<Record<keyof Seconds, string>> = {
  concurrency: 'Lambda concurrency',
  s3Writes: 'S3 writes',
  s3Reads: 'S3 reads',
  sqsInFlight: 'SQS in flight',
  dataApi: 'Data API',
  kms: 'KMS',
};

/** What the formula says of large exports by AWS's quotas. Arithmetic alone; nothing is measured. */
export default async function capacity(report: Report): Promise<void> {
  report.table(
    ['work', 'concurrency', 's an invocation', ...Object.values(labels), 'binds first'],
    workloads.map(([name, work, concurrency]) => {
      const quotas: Quotas = { ...documented, concurrency };
      const seconds = secondsToStage(work, quotas);
      return [
        name,
        concurrency,
        figure(work.secondsPerInvocation),
        ...Object.values(seconds).map((time) => (time === 0 ? 'no limit stated' : duration(time))),
        labels[binding(seconds).name],
      ];
    }),
  );
}

function duration(seconds: number): string {
  return seconds < 172_800 ? formatDuration(seconds * 1000) : `${figure(seconds / 86_400)} days`;
}
