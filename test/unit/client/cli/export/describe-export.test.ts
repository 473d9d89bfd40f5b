import { beforeEach, expect, test } from 'vitest';
import type { DeliveryApi } from '../../../../../lib/client/api/delivery-api.ts';
import { ServiceError } from '../../../../../lib/client/api/errors.ts';
import { describeState, shortfallOf, waitForExport } from '../../../../../lib/client/cli/export/describe-export.ts';
import type { ShownExport } from '../../../../../lib/contract/export-state.ts';
import { shownExport } from '../../../../helpers/export-states.ts';

const shown = (...args: Parameters<typeof shownExport>) => shownExport(...args) as ShownExport;
const notFound = new ServiceError('not_found', 'there is no such request', { status: 404 });

/** The answers to come; the last one stays. */
let answers: (ShownExport | Error)[];
const pauses: number[] = [];
const seen: string[] = [];
let controller: AbortController;
beforeEach(() => {
  pauses.length = 0;
  seen.length = 0;
  controller = new AbortController();
});

const proxy = {
  connection: {
    transport: {
      timing: {
        sleep: async (milliseconds: number, signal: AbortSignal) => {
          pauses.push(milliseconds);
          signal.throwIfAborted();
        },
      },
    },
  },
  exportState: async () => {
    const [answer] = answers.length > 1 ? answers.splice(0, 1) : answers;
    if (answer instanceof Error) throw answer;
    return { shown: answer, files: [] };
  },
} as unknown as DeliveryApi;

const wait = () =>
  waitForExport(proxy, { requestId: 'r', kind: 'fega' }, controller.signal, (state) => seen.push(describeState(state)));

test('waits from the queue to the end, with growing pauses', async () => {
  const accepted = shown({ state: 'accepted' }, { pending: 3 });
  const staging = shown({}, { staged: 1, given_up: 1, pending: 1 });
  const complete = shown({ state: 'complete' }, { staged: 3 });
  answers = [notFound, notFound, accepted, staging, staging, staging, staging, staging, staging, complete];
  expect(await wait()).toBe(complete);
  expect(seen.slice(0, 2)).toEqual(['accepted: 0 of 3 files staged', 'staging: 1 of 3 files staged, 1 given up']);
  expect(seen.at(-1)).toBe('complete: 3 of 3 files staged');
  expect(pauses).toEqual([2000, 3000, 4500, 6750, 10_125, 15_187.5, 22_781.25, 30_000, 30_000]);
});

test('ends when it is interrupted', async () => {
  answers = [shown()];
  controller.abort();
  await expect(wait()).rejects.toMatchObject({ code: 'interrupted' });
});

test('ends with what the service refuses', async () => {
  answers = [new ServiceError('unauthenticated', 'wrong password', { status: 401 })];
  await expect(wait()).rejects.toMatchObject({ code: 'unauthenticated' });
});

test.each([
  [shown({ state: 'accepted' }), 'accepted', undefined],
  [shown({ state: 'complete' }, { staged: 1 }), 'complete: 1 of 1 file staged', undefined],
  [shown({ state: 'rejected', reason: 'not_released' }), 'rejected (not_released)', 'forbidden'],
  [
    shown({ state: 'incomplete' }, { staged: 1, rejected: 1, given_up: 2 }),
    'incomplete: 1 of 4 files staged, 1 rejected, 2 given up',
    'partial',
  ],
  [shown({ state: 'withdrawn' }, { withdrawn: 2 }), 'withdrawn: 0 of 2 files staged, 2 withdrawn', 'forbidden'],
])('%#: %s is shown as it is, and is an error when it came to less than complete', (state, text, code) => {
  expect(describeState(state)).toBe(text);
  expect(shortfallOf(state)?.code).toBe(code);
});
