import { beforeEach, describe, expect, test } from 'vitest';
import { unavailable } from '../../../../lib/errors.ts';
import { whenConsistent } from '../../../../lib/service/stores/deployment.ts';

const refusal = (name: string) => Object.assign(new Error(`${name} on arn:aws:x`), { name });
let clock = 0;
let heard: unknown[] = [];
let calls = 0;
beforeEach(() => {
  clock = 0;
  heard = [];
  calls = 0;
});

/** `failures` are thrown one per call; after them, the call succeeds. */
const run = (failures: readonly Error[], remainingMs = 600_000, durationMs = 0) =>
  whenConsistent(
    async () => {
      clock += durationMs;
      calls += 1;
      const failure = failures[calls - 1];
      if (failure) throw failure;
      return 'done';
    },
    {
      remainingMs,
      onRefusal: (error) => heard.push(error),
      now: () => clock,
      random: () => 0.999,
      sleep: async (milliseconds) => {
        clock += milliseconds;
      },
    },
  );

describe('right after a deployment made roles and a cluster', () => {
  test.each([
    // Query protocol (CloudFormation, RDS), Secrets Manager, and the errors of the RDS Data API's model.
    'AccessDenied',
    'AccessDeniedException',
    'HttpEndpointNotEnabledException',
    'SecretsErrorException',
  ])('%s is not taken for an answer', async (name) => {
    const failures = [refusal(name), refusal(name), refusal(name)];
    expect(await run(failures)).toBe('done');
    expect(heard).toEqual(failures);
    // Pauses of almost 1, 2 and 4 seconds.
    expect(clock).toBeGreaterThan(6900);
    expect(clock).toBeLessThan(7000);
  });

  test('a refusal that stays is the error after five minutes, in its own words', async () => {
    const failures = Array.from({ length: 1000 }, () => refusal('AccessDenied'));
    await expect(run(failures)).rejects.toMatchObject({ name: 'AccessDenied', message: 'AccessDenied on arn:aws:x' });
    expect(clock).toBeGreaterThan(4 * 60_000);
    expect(clock).toBeLessThanOrEqual(5 * 60_000);
  });

  test('no more time is used than there is', async () => {
    await expect(run([refusal('AccessDenied'), refusal('AccessDenied')], 1500)).rejects.toThrow('AccessDenied');
    expect(clock).toBeLessThanOrEqual(1500);
  });
});

test.each([
  ['a wrong statement', refusal('DatabaseErrorException')],
  ['a service that its own retries gave up on', unavailable('the database is gone')],
])('%s is the answer at once', async (_what, failure) => {
  await expect(run([failure])).rejects.toBe(failure);
  expect([calls, heard]).toEqual([1, []]);
});
