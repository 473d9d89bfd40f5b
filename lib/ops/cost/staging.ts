import { planContainer } from '../../service/archive/plan.ts';

/** Bytes of a header for one recipient with one session key. */
const typicalHeader = 124;

/** S3 calls that move the bytes of a container, by the service's own plan. */
export function transferCalls(bodySize: number) {
  const plan = planContainer(typicalHeader, bodySize);
  if (plan.kind === 'put') return { s3Writes: 1, s3Reads: 1, copies: 0 };
  // Besides the copies: the start, the part that is sent, the end.
  return { s3Writes: 3 + plan.copies.length, s3Reads: 1, copies: plan.copies.length };
}

/**
 * Seconds of one call in AWS, and parts that S3 copies at once: docs/benchmarks.md, "How long a large export takes". Those of S3
 * are assumptions.
 */
const seconds = { s3: 0.05, dataApi: 0.1, copyOfAPart: 1 };
const copiesInFlight = 32;
/** S3 reads of a large file beside those that move bytes. */
const lookUps = 3;
/** Statements: find the row, write the upload id, ask again whether it is due, record the end. */
const dataApi = 4;

/** What it takes to stage one file that is one of many: calls as `npm run bench export` counts them. */
export function stagingOf(bodySize: number) {
  const { s3Writes, s3Reads, copies } = transferCalls(bodySize);
  if (copies === 0) {
    // Small files are staged ten at a time.
    const time = 0.1 * (10 * 0.2 * seconds.dataApi + (s3Writes + s3Reads) * seconds.s3);
    return { s3Writes, s3Reads, dataApi: 0.2, sqs: 0.3, invocations: 0.1, seconds: time };
  }
  const inTurn = s3Writes - copies + s3Reads + lookUps;
  return {
    s3Writes,
    s3Reads: s3Reads + lookUps,
    dataApi,
    /** Messages that are sent, and receives and deletions, which carry up to ten. */
    sqs: 2.1,
    invocations: 1,
    /** Of these invocations. */
    seconds: dataApi * seconds.dataApi + inTurn * seconds.s3 + Math.ceil(copies / copiesInFlight) * seconds.copyOfAPart,
  };
}
