import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Compared } from '../../../../bench/export.ts';
import { stagingOf, transferCalls } from '../../../../lib/ops/cost/staging.ts';

const figures: readonly Compared[] = JSON.parse(
  readFileSync(new URL('../../../../docs/performance/export.json', import.meta.url), 'utf8'),
);
/** A header for one recipient in the archive's containers; the rest is the body. */
const header = 124;
const large = figures.filter(({ plaintextBytes }) => plaintextBytes > 8 * 2 ** 20);

test.each(large.map((figure) => [figure.plaintextBytes, figure] as const))(
  'a file of %d bytes takes the calls that the bench has counted',
  (_, { containerBytes, staged }) => {
    const { s3Writes, s3Reads, dataApi } = stagingOf(containerBytes - header);
    // The last file of a request makes two calls more: whether the request is settled, and the message that it is.
    expect(s3Writes + s3Reads + dataApi + 2).toBe(staged.calls);
  },
);

test('the bench has figures of large files', () => {
  expect(large).toHaveLength(2);
});

test('a small file shares its calls with nine others', () => {
  // 2.00 calls of S3 and 0.206 of the database were measured: docs/figures.md. 10 files take 0.2 s + 0.1 s.
  expect(stagingOf(1000)).toMatchObject({ s3Writes: 1, s3Reads: 1, dataApi: 0.2, invocations: 0.1 });
  expect(stagingOf(1000).seconds).toBeCloseTo(0.03, 9);
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

test('a large file takes the seconds of the capacity table', () => {
  expect(stagingOf(100_000_000).seconds).toBeCloseTo(1.75, 9);
  expect(Math.round(stagingOf(1_000_000_000_000).seconds)).toBe(312);
});
