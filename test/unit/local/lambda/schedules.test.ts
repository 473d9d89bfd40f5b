import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startSchedules } from '../../../../lib/local/lambda/schedules.ts';
import { deploy } from '../../../../lib/local/template/deployment.ts';

const arn = 'arn:aws:lambda:eu-north-1:000000000000:function:sweep';
const rule = { ScheduleExpression: 'rate(5 minutes)', Targets: [{ Arn: arn, Id: 'Target0' }] };
const invoke = vi.fn(async () => ({ ok: true as const, payload: null, durationMs: 1 }));
beforeEach(() => {
  vi.useFakeTimers();
  invoke.mockClear();
});
afterEach(() => {
  vi.useRealTimers();
});

function start(Properties: object): () => void {
  const Resources = { Rule: { Type: 'AWS::Events::Rule', Properties: { ...Properties } } };
  const stack = { name: 'S', template: { Resources }, region: undefined, assets: new Map() };
  return startSchedules(deploy([stack], { queueUrl: (name) => name, apiUrl: (id) => id }), { invoke });
}

test('a rule calls its function when each period is over, and no more once it is stopped', async () => {
  const stop = start(rule);
  await vi.advanceTimersByTimeAsync(5 * 60_000 - 1);
  expect(invoke).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(invoke.mock.calls).toEqual([[arn, expect.objectContaining({ 'detail-type': 'Scheduled Event' })]]);
  await vi.advanceTimersByTimeAsync(10 * 60_000);
  expect(invoke).toHaveBeenCalledTimes(3);
  stop();
  await vi.advanceTimersByTimeAsync(60 * 60_000);
  expect(invoke).toHaveBeenCalledTimes(3);
});
