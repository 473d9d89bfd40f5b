import { describe, expect, test } from 'vitest';
import { transferCalls } from '../../../lib/cost/staging.ts';
import { binding, type Quotas, secondsToStage, type Work } from '../../bench/capacity-formula.ts';

const quotas: Quotas = {
  concurrency: 1000,
  ramp: { start: 5, perSecond: 5 },
  s3Writes: 3500,
  s3Reads: 5500,
  prefixes: 1,
  sqsInFlight: 120_000,
  dataApi: Number.POSITIVE_INFINITY,
  kms: 10_000,
};
const work: Work = {
  files: 10_000_000,
  filesPerInvocation: 1,
  secondsPerInvocation: 2,
  callsPerFile: { s3Writes: 7, s3Reads: 11, dataApi: 4, kms: 0.5 },
};

describe('secondsToStage', () => {
  test('one rate after the other, worked by hand', () => {
    const { s3Writes, s3Reads, sqsInFlight, dataApi, kms } = secondsToStage(work, quotas);
    expect({ s3Writes, s3Reads, dataApi, kms }).toEqual({ s3Writes: 20_000, s3Reads: 20_000, dataApi: 0, kms: 500 });
    expect(sqsInFlight).toBeCloseTo(166.667, 3);
  });

  // 995 invocations are added in 199 s, in which (5 + 1000) / 2 * 199 = 99,997.5 invocation-seconds are done.
  test.each([
    ['ends while concurrency still grows', 5, 1.236_067_977],
    ['ends with the ramp', 49_998.75, 199],
    ['goes on at full concurrency', 99_998.75, 299],
  ])('concurrency: the work %s', (_, files, expected) => {
    expect(secondsToStage({ ...work, files }, quotas).concurrency).toBeCloseTo(expected, 6);
  });

  test('a setting below the start has no ramp', () => {
    expect(secondsToStage({ ...work, files: 200 }, { ...quotas, concurrency: 4 }).concurrency).toBe(100);
  });

  test('ten files an invocation need a tenth of the invocations, and are all in flight', () => {
    const { concurrency, sqsInFlight } = secondsToStage(
      { ...work, files: 1200, filesPerInvocation: 10 },
      { ...quotas, concurrency: 2, ramp: { start: 2, perSecond: 5 } },
    );
    expect({ concurrency, sqsInFlight }).toEqual({ concurrency: 120, sqsInFlight: 0.02 });
  });

  test('prefixes share the load of S3 alone', () => {
    const { s3Writes, kms } = secondsToStage(work, { ...quotas, prefixes: 4 });
    expect({ s3Writes, kms }).toEqual({ s3Writes: 5000, kms: 500 });
  });
});

test('the largest time binds', () => {
  const seconds = { concurrency: 3, s3Writes: 9, s3Reads: 1, sqsInFlight: 0, dataApi: 8, kms: 2 };
  expect(binding(seconds)).toEqual({ name: 's3Writes', seconds: 9 });
});

test.each([
  [8_388_608, { s3Writes: 1, s3Reads: 1, copies: 0 }],
  // 5 MiB are sent; 94,757,244 bytes are left, in copies of 67,108,864.
  [100_000_000, { s3Writes: 5, s3Reads: 1, copies: 2 }],
  // 1,019 MiB and a little are left: 16 copies of 64 MiB.
  [1_073_741_824, { s3Writes: 19, s3Reads: 1, copies: 16 }],
])('calls that move %d bytes', (bodySize, expected) => {
  expect(transferCalls(bodySize)).toEqual(expected);
});
