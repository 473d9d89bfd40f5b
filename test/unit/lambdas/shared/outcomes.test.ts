import { afterEach, beforeEach, expect, test } from 'vitest';
import type { OperatorEvent } from '../../../../lib/service/stores/events.ts';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { lambdaContext, metricsOf } from '../../../helpers/sqs-event.ts';

const { announce } = await import('../../../../lambdas/shared/outcomes.ts');
const { metrics } = await import('../../../../lambdas/shared/observability.ts');

const settled: OperatorEvent = { requestId: '6f2c3d1e-0000-4000-8000-000000000001', state: 'complete' };

let log: ReturnType<typeof captureOutput>;
beforeEach(() => {
  log = captureOutput();
});
afterEach(() => log.restore());

test('nothing is sent while the setting is off', async () => {
  await announce(undefined, settled, lambdaContext());
  expect(log.text()).toBe('');
});

test('an event that is lost is a log line and counts in a metric', async () => {
  const error = new Error('not in time', {
    cause: Object.assign(new Error('slow down'), { name: 'ThrottlingException' }),
  });
  await announce({ publish: () => Promise.reject(error) }, settled, lambdaContext());
  metrics.publishStoredMetrics();
  expect(metricsOf(log.documents())).toEqual([{ EventLost: 1 }]);
  const lines = log.documents().filter((line) => line.message === 'event lost');
  expect(lines).toEqual([
    expect.objectContaining({
      level: 'ERROR',
      requestId: '6f2c3d1e-0000-4000-8000-000000000001',
      state: 'complete',
      detail: 'not in time',
      cause: 'ThrottlingException',
    }),
  ]);
});

test.each([
  ['three seconds', 60_000, 3000],
  ['less when the invocation ends soon', 5000, 2000],
  ['no time at the end of the invocation', 1000, -2000],
])('events take %s', async (_name, remaining, expected) => {
  const given: number[] = [];
  const events = {
    publish: async (_: OperatorEvent, withinMs: number) => {
      given.push(withinMs);
    },
  };
  await announce(events, settled, lambdaContext(remaining));
  expect(given).toEqual([expected]);
  expect(log.text()).toBe('');
});
