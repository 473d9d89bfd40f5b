import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { exportFields, followTraces, requestedFields, traceOf } from '../../../../lambdas/shared/traces.ts';

const own = 'Root=1-66666666-aaaaaaaaaaaaaaaaaaaaaaaa;Parent=bbbbbbbbbbbbbbbb;Sampled=1';
const received = 'Root=1-55555555-cccccccccccccccccccccccc;Parent=dddddddddddddddd;Sampled=0';
const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';

beforeEach(() => {
  vi.stubEnv('_X_AMZN_TRACE_ID', own);
  followTraces([]);
});
afterEach(() => vi.unstubAllEnvs());

test('what is sent for a request carries the header of its message, and other messages that of the invocation', () => {
  followTraces([{ requestId, header: received }]);
  expect(traceOf(requestId)).toBe(received);
  const trace = '1-55555555-cccccccccccccccccccccccc';
  expect(exportFields({ requestId })).toEqual({ requestId, trace });
  expect(requestedFields({ requestId: 'own' }, { requestId })).toEqual({
    requestId: 'own',
    exportRequestId: requestId,
    trace,
  });
  expect(traceOf('another')).toBe(own);
});

test('the next invocation follows its own messages alone', () => {
  followTraces([{ requestId, header: received }]);
  followTraces([{ requestId: 'another', header: received }]);
  expect(traceOf(requestId)).toBe(own);
});

test('fields that Lambda adds for itself are left out: SQS takes a correct header only', () => {
  vi.stubEnv('_X_AMZN_TRACE_ID', `${own};Lineage=1:0a1b2c3d:0`);
  expect(traceOf(requestId)).toBe(own);
});

test.each([
  '',
  'Sampled=1',
  'Root=1-5-c',
  `x${own}`,
  'Root=1-66666666-AAAAAAAAAAAAAAAAAAAAAAAA',
  'Parent=bbbbbbbbbbbbbbbb',
])('%j is not a header, and is not passed on', (header) => {
  vi.stubEnv('_X_AMZN_TRACE_ID', header);
  followTraces([{ requestId, header }]);
  expect(traceOf(requestId)).toBeUndefined();
  expect(exportFields({ requestId })).toEqual({ requestId });
});
