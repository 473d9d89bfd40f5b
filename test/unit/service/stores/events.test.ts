import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { describe, expect, test } from 'vitest';
import { eventBridgeEvents, type OperatorEvent } from '../../../../lib/service/stores/events.ts';
import { brokenConnection, httpHandler, type SdkReply, testClient, textOf } from '../../../helpers/http-handler.ts';

const busArn = 'arn:aws:events:eu-north-1:111122223333:event-bus/default';
const requestId = '6f2c3d1e-0000-4000-8000-000000000001';
const accepted: OperatorEvent = { requestId, state: 'accepted' };

/** EventBridge that gives these answers in turn, and what it was sent: one entry a call. */
function bridge(answers: readonly (SdkReply | Error)[], msEach = 0) {
  const left = [...answers];
  const entries: Record<string, string>[] = [];
  let now = 0;
  const handler = httpHandler((request) => {
    const { Entries } = JSON.parse(textOf(request)) as { Entries: Record<string, string>[] };
    entries.push(...Entries);
    now += msEach;
    const answer = left.length > 1 ? left.shift() : left[0];
    if (answer === undefined || answer instanceof Error) throw answer;
    return answer;
  });
  const events = eventBridgeEvents({
    client: new EventBridgeClient({ ...testClient, maxAttempts: 1, requestHandler: handler }),
    busArn,
    deployment: 'DataOutService-test',
    now: () => now,
    random: () => 0.5,
    sleep: async (milliseconds) => {
      now += milliseconds;
    },
  });
  return { events, entries, now: () => now };
}

const taken: SdkReply = {
  status: 200,
  body: JSON.stringify({ FailedEntryCount: 0, Entries: [{ EventId: 'event-1' }] }),
};
/** A call that succeeds and refuses its entry. */
function refused(code: string): SdkReply {
  const Entries = [{ ErrorCode: code, ErrorMessage: 'not now' }];
  return { status: 200, body: JSON.stringify({ FailedEntryCount: 1, Entries }) };
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
  ['withdrawn', 'Delivery Settled'],
] as const)('an event of the state %s names request, state and deployment, and nothing else', async (state, type) => {
  const { events, entries } = bridge([taken]);
  const known = { requestId, state, datasetId: 'EGAD1', reason: 'not_entitled', visa: 'a.b.c' };
  await events.publish(known, 3000);
  const detail = { requestId, state, deployment: 'DataOutService-test' };
  const wanted = { EventBusName: busArn, Source: 'data-out', DetailType: type };
  expect(entries.map(({ Detail = '', ...rest }) => ({ ...rest, Detail: JSON.parse(Detail) }))).toEqual([
    { ...wanted, Detail: detail },
  ]);
});

describe('an entry that EventBridge refuses in a reply of 200', () => {
  test('is sent again', async () => {
    const { events, entries } = bridge([refused('ThrottlingException'), refused('InternalFailure'), taken]);
    await events.publish(accepted, 3000);
    expect(entries).toHaveLength(3);
  });

  test('for good is not sent again', async () => {
    const { events, entries } = bridge([refused('NotAuthorizedForSourceException'), taken]);
    const error = { name: 'NotAuthorizedForSourceException', message: 'not now' };
    await expect(events.publish(accepted, 3000)).rejects.toMatchObject(error);
    expect(entries).toHaveLength(1);
  });

  test('again and again is given up in time', async () => {
    const { events, entries, now } = bridge([refused('InternalFailure')]);
    await expect(events.publish(accepted, 3000)).rejects.toMatchObject({ cause: { name: 'InternalFailure' } });
    expect(entries.length).toBeGreaterThan(2);
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
    const { events, entries } = bridge([answer, answer, taken]);
    await events.publish(accepted, 3000);
    expect(entries).toHaveLength(3);
  });

  test('but not without a permission', async () => {
    const { events, entries } = bridge([refusal(400, 'AccessDeniedException')]);
    await expect(events.publish(accepted, 3000)).rejects.toMatchObject({ name: 'AccessDeniedException' });
    expect(entries).toHaveLength(1);
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
  const events = eventBridgeEvents({ client, busArn, deployment: 'd' });
  for (const withinMs of [20, 0, -5000]) {
    await expect(events.publish(accepted, withinMs)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  }
});
