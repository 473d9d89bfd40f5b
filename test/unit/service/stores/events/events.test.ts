import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { describe, expect, test } from 'vitest';
import type { OperatorEvent } from '../../../../../lib/contract/events.ts';
import { EventBridgeEvents } from '../../../../../lib/service/stores/events/events.ts';
import { brokenConnection, httpHandler, type SdkReply, testClient, textOf } from '../../../../helpers/http-handler.ts';

const busArn = 'arn:aws:events:eu-north-1:111122223333:event-bus/default';
const id = (n: number) => `6f2c3d1e-0000-4000-8000-00000000000${n}`;
const accepted = (n: number): OperatorEvent => ({ exportId: id(n), state: 'accepted' });

/** EventBridge that gives these answers in turn, and what it was sent: request ids, call by call. */
function bridge(answers: readonly (SdkReply | Error)[], msEach = 0) {
  const left = [...answers];
  const calls: string[][] = [];
  const entries: Record<string, string>[] = [];
  let now = 0;
  const handler = httpHandler((request) => {
    const { Entries } = JSON.parse(textOf(request)) as { Entries: Record<string, string>[] };
    calls.push(Entries.map(({ Detail = '' }) => JSON.parse(Detail).requestId));
    entries.push(...Entries);
    now += msEach;
    const answer = left.length > 1 ? left.shift() : left[0];
    if (answer === undefined || answer instanceof Error) throw answer;
    return answer;
  });
  const events = new EventBridgeEvents({
    client: new EventBridgeClient({ ...testClient, maxAttempts: 1, requestHandler: handler }),
    busArn,
    deployment: 'DataOutService-test',
    now: () => now,
    random: () => 0.5,
    sleep: async (milliseconds) => {
      now += milliseconds;
    },
  });
  return { events, calls, entries, now: () => now };
}

/** The reply to a call, entry by entry: taken, or the code of a refusal. */
function reply(...codes: readonly (string | undefined)[]): SdkReply {
  const Entries = codes.map((code, n) =>
    code === undefined ? { EventId: `event-${n}` } : { ErrorCode: code, ErrorMessage: 'not now' },
  );
  const FailedEntryCount = codes.filter((code) => code !== undefined).length;
  return { status: 200, body: JSON.stringify({ FailedEntryCount, Entries }) };
}
const refusal = (status: number, type: string): SdkReply => ({
  status,
  body: JSON.stringify({ __type: type, message: 'no' }),
});

test.each([
  ['accepted', 'Export Accepted'],
  ['rejected', 'Export Rejected'],
  ['complete', 'Delivery Settled'],
  ['incomplete', 'Delivery Settled'],
  ['failed', 'Delivery Settled'],
  ['withdrawn', 'Delivery Settled'],
] as const)('an event of the state %s names request, state and deployment, and nothing else', async (state, type) => {
  const { events, entries } = bridge([reply(undefined)]);
  const known = { exportId: id(1), state, datasetId: 'EGAD1', reason: 'not_entitled', visa: 'a.b.c' };
  expect(await events.publish([known], 3000)).toEqual([]);
  const detail = { requestId: id(1), state, deployment: 'DataOutService-test' };
  const wanted = { EventBusName: busArn, Source: 'data-out', DetailType: type };
  expect(entries.map(({ Detail = '', ...rest }) => ({ ...rest, Detail: JSON.parse(Detail) }))).toEqual([
    { ...wanted, Detail: detail },
  ]);
});

describe('entries that EventBridge refuses in a reply of 200', () => {
  test('are sent again, and they alone', async () => {
    const partial = reply(undefined, 'ThrottlingException', 'InternalFailure');
    const { events, calls } = bridge([partial, reply('InternalFailure', undefined), reply(undefined)]);
    expect(await events.publish([accepted(1), accepted(2), accepted(3)], 3000)).toEqual([]);
    expect(calls).toEqual([[id(1), id(2), id(3)], [id(2), id(3)], [id(2)]]);
  });

  test('for good are not sent again, and are returned with the code', async () => {
    const { events, calls } = bridge([reply('NotAuthorizedForSourceException', 'InternalFailure'), reply(undefined)]);
    const lost = await events.publish([accepted(1), accepted(2)], 3000);
    expect(lost.map(({ event }) => event)).toEqual([accepted(1)]);
    expect(lost[0]?.error).toMatchObject({ name: 'NotAuthorizedForSourceException', message: 'not now' });
    expect(calls).toEqual([[id(1), id(2)], [id(2)]]);
  });

  test('again and again are given up in time, and returned', async () => {
    const { events, calls, now } = bridge([reply('InternalFailure')]);
    const lost = await events.publish([accepted(1)], 3000);
    expect(lost).toMatchObject([{ event: accepted(1), error: { cause: { name: 'InternalFailure' } } }]);
    expect(calls.length).toBeGreaterThan(2);
    expect(now()).toBeLessThanOrEqual(3000);
  });
});

describe('a call that fails as a whole is repeated', () => {
  test.each([
    ['throttled', refusal(400, 'ThrottlingException')],
    ['an error inside EventBridge', refusal(500, 'InternalException')],
    ['no connection', brokenConnection('ECONNREFUSED')],
    ['no answer', brokenConnection()],
  ])('%s', async (_name, answer) => {
    const { events, calls } = bridge([answer, answer, reply(undefined)]);
    expect(await events.publish([accepted(1)], 3000)).toEqual([]);
    expect(calls).toHaveLength(3);
  });

  test('until its time is over, and then all its events are lost', async () => {
    const { events, calls, now } = bridge([brokenConnection('ETIMEDOUT')], 1000);
    const lost = await events.publish([accepted(1), accepted(2)], 3000);
    expect(lost.map(({ event }) => event)).toEqual([accepted(1), accepted(2)]);
    expect(lost[0]?.error).toMatchObject({ cause: { code: 'ETIMEDOUT' } });
    expect(calls).toHaveLength(3);
    expect(now()).toBeLessThan(4000);
  });

  test('but not without a permission', async () => {
    const { events, calls } = bridge([refusal(400, 'AccessDeniedException')]);
    expect(await events.publish([accepted(1)], 3000)).toMatchObject([{ error: { name: 'AccessDeniedException' } }]);
    expect(calls).toHaveLength(1);
  });
});

test('a call that hangs ends with the time that was given', async () => {
  const hanging = {
    handle: (_: unknown, { abortSignal }: { abortSignal: AbortSignal }) =>
      new Promise<never>((_, reject) =>
        abortSignal.addEventListener('abort', () =>
          reject(Object.assign(new Error('aborted'), { name: 'AbortError' })),
        ),
      ),
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
  };
  const client = new EventBridgeClient({ ...testClient, maxAttempts: 1, requestHandler: hanging });
  const events = new EventBridgeEvents({ client, busArn, deployment: 'd' });
  for (const withinMs of [20, 0, -5000]) {
    expect(await events.publish([accepted(1)], withinMs)).toMatchObject([{ event: accepted(1) }]);
  }
});
