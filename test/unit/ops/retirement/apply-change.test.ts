import { describe, expect, test } from 'vitest';
import { applyChange } from '../../../../lib/ops/retirement/apply-change.ts';
import { RetirementError } from '../../../../lib/ops/retirement/errors.ts';
import { fakeTiming } from '../../../helpers/retirement-world.ts';

const lost = new RetirementError('network_failure', 'no answer');
const refused = new RetirementError('access_denied', 'no');

/** Looks and acts as scripted. A call beyond the end of the script fails. */
async function run(looks: boolean[], acts: (Error | undefined)[]) {
  const calls: string[] = [];
  const timing = fakeTiming();
  const wait = { timing, signal: new AbortController().signal, maxWaitSeconds: 60, note: () => {} };
  const result = applyChange<boolean>(
    {
      async read() {
        calls.push('look');
        const seen = looks.shift();
        if (seen === undefined) throw new Error('one look too many');
        return seen;
      },
      isDone: (seen) => seen,
      async act() {
        calls.push('act');
        if (acts.length === 0) throw new Error('one act too many');
        const failure = acts.shift();
        if (failure) throw failure;
      },
      unproven: 'it still shows',
    },
    wait,
  );
  const outcome = await result.then(
    ({ acted }) => acted,
    (error: unknown) => error,
  );
  return { outcome, calls: calls.join(' '), slept: timing.slept };
}

describe('applyChange', () => {
  test.each([
    ['what is done is left alone', [true], [], false, 'look'],
    ['what is not done is done, and looked for', [false, true], [undefined], true, 'look act look'],
    [
      'a write that was accepted is not sent again',
      [false, false, false, true],
      [undefined],
      true,
      'look act look look look',
    ],
    ['a lost answer with its effect', [false, true], [lost], true, 'look act look'],
    ['a lost answer without its effect', [false, false, true], [lost, undefined], true, 'look act look act look'],
    ['a refusal of what is done', [false, true], [refused], true, 'look act look'],
    ['a refusal', [false, false], [refused], refused, 'look act look'],
  ] as const)('%s', async (_what, looks, acts, outcome, calls) => {
    const result = await run([...looks], [...acts]);
    expect(result.outcome).toBe(outcome);
    expect(result.calls).toBe(calls);
  });

  test('gives up after five looks', async () => {
    const result = await run([false, false, false, false, false], [undefined]);
    expect(result.outcome).toMatchObject({ code: 'not_proven', message: 'it still shows' });
    expect(result.slept).toEqual([1000, 2000, 4000, 8000]);
  });

  test('sends nothing that it cannot look for', async () => {
    const result = await run([false, false, false, false, false], [lost, lost, lost, lost]);
    expect(result.outcome).toBe(lost);
    expect(result.calls).toBe('look act look act look act look act look');
  });

  test('a rate limit is waited for as long as is said', async () => {
    const limited = new RetirementError('rate_limited', 'limited', { retryAfterSeconds: 42 });
    const result = await run([false, false, true], [limited, undefined]);
    expect(result).toMatchObject({ outcome: true, slept: [42_000, 2000] });
    const longer = new RetirementError('rate_limited', 'limited', { retryAfterSeconds: 61 });
    expect(await run([false], [longer])).toMatchObject({ outcome: longer, slept: [] });
  });
});
