import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Schedules } from '../../../../lib/local/lambda/schedules.ts';
import { deploy } from '../../../../lib/local/template/deployment.ts';

const arn = 'arn:aws:lambda:eu-north-1:000000000000:function:sweep';
const rule = { ScheduleExpression: 'rate(5 minutes)', State: 'ENABLED', Targets: [{ Arn: arn, Id: 'Target0' }] };

let running: (() => void)[];
const invoke = vi.fn();
beforeEach(() => {
  vi.useFakeTimers();
  running = [];
  invoke.mockReset();
  invoke.mockImplementation(() => new Promise<void>((resolve) => running.push(resolve)));
});
afterEach(() => {
  vi.useRealTimers();
});

function start(Properties: object): Schedules {
  const Resources = { Rule: { Type: 'AWS::Events::Rule', Properties: { ...Properties } } };
  const stack = { name: 'S', template: { Resources }, region: undefined, assets: new Map() };
  return new Schedules(deploy([stack], { queueUrl: (name) => name, apiUrl: (id) => id }), { invoke });
}

test('a rule calls its function when each period is over, and no more once it is stopped', async () => {
  invoke.mockResolvedValue({ ok: true });
  const schedules = start(rule);
  await vi.advanceTimersByTimeAsync(5 * 60_000 - 1);
  expect(invoke).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(invoke.mock.calls).toEqual([[arn, expect.objectContaining({ 'detail-type': 'Scheduled Event' })]]);
  await vi.advanceTimersByTimeAsync(10 * 60_000);
  expect(invoke).toHaveBeenCalledTimes(3);
  schedules.stop();
  await vi.advanceTimersByTimeAsync(60 * 60_000);
  expect(invoke).toHaveBeenCalledTimes(3);
});

test('a target with a constant input gets that', async () => {
  invoke.mockResolvedValue({ ok: true });
  const schedules = start({ ...rule, Targets: [{ Arn: arn, Id: 'Target0', Input: '{"net":true}' }] });
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  expect(invoke.mock.calls).toEqual([[arn, { net: true }]]);
  schedules.stop();
});

test('a run that has not ended skips the next', async () => {
  const schedules = start({ ...rule, ScheduleExpression: 'rate(1 hour)' });
  await vi.advanceTimersByTimeAsync(3 * 3_600_000);
  expect(invoke).toHaveBeenCalledTimes(1);
  running.pop()?.();
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(invoke).toHaveBeenCalledTimes(2);
  schedules.stop();
});

describe('a rule', () => {
  test.each([
    ['that is disabled', { ...rule, State: 'DISABLED' }],
    ['for events', { EventPattern: { source: ['x'] }, Targets: rule.Targets }],
  ])('%s calls nothing', async (_, properties) => {
    const schedules = start(properties);
    await vi.advanceTimersByTimeAsync(86_400_000);
    expect(invoke).not.toHaveBeenCalled();
    schedules.stop();
  });

  test.each(['cron(0 * * * ? *)', 'rate(0 minutes)', 'rate(5 seconds)'])('at %s is refused', (ScheduleExpression) => {
    expect(() => start({ ...rule, ScheduleExpression })).toThrow(`${ScheduleExpression} is not a rate`);
  });
});
