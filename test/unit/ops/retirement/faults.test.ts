import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Fault, RegistryServer } from '../../../helpers/registry-server.ts';
import { retired, retireRelease } from '../../../helpers/retirement-world.ts';

let server: RegistryServer;
beforeAll(async () => {
  server = await RegistryServer.start();
});
afterAll(() => server.stop());
beforeEach(() => server.reset());
afterEach(() => expect(server.violations).toEqual([]));

const apply = () => retireRelease(server, ['--apply', '--yes']);

/** Steps that have taken effect: they must be the first ones. */
function stepsTaken(): readonly boolean[] {
  const { versions, releases, tags } = server.state;
  return [
    !versions.some(({ id }) => id === 105),
    releases.some(({ id, name }) => id === 10 && name === 'Proxy 1.2.0-verified-broken'),
    !('proxy-1.2.0' in tags),
  ];
}

/** A whole run makes this many calls; a test below holds it to that. */
const calls = Array.from({ length: 17 }, (_each, index) => index);

test('a run without a fault makes each of these calls', async () => {
  expect((await apply()).exitCode).toBe(0);
  expect(server.calls).toHaveLength(calls.length);
  expect(server.state).toEqual(retired());
});

describe.each<Fault>(['reset-before', 'reset-after', 'error-before', 'error-after', 'cut'])(
  'one call fails by %s',
  (fault) => {
    test.each(calls)('call %i: the run survives it, or the next one does the rest', async (call) => {
      server.faults.set(call, fault);
      const { exitCode } = await apply();
      // A read is sent again. A write is not, and one without an effect ends the run.
      const isLost = server.calls[call]?.method !== 'GET' && String(fault).endsWith('before');
      expect(exitCode).toBe(isLost ? 7 : 0);
      if (isLost) expect((await apply()).exitCode).toBe(0);
      expect(server.state).toEqual(retired());
      // No write was sent that had been carried out already.
      const done = server.calls.filter(
        ({ method, status }) => method !== 'GET' && status !== undefined && status < 300,
      );
      expect(done.length).toBeLessThanOrEqual(3);
    });
  },
);

describe.each<Fault>(['reset-before', 'reset-after'])('from one call on every call fails by %s', (fault) => {
  test.each(calls)('call %i: the run stops, and the next one finishes', async (call) => {
    server.outage = { from: call, fault };
    const stopped = await apply();
    expect(stopped.exitCode).toBe(7);
    const taken = stepsTaken();
    expect(taken).toEqual([...taken].sort((a, b) => Number(b) - Number(a)));
    server.outage = undefined;
    const { exitCode, stdout } = await apply();
    expect(exitCode).toBe(0);
    expect(server.state).toEqual(retired());
    // What is found done is said so.
    const said = ['1. image    done', '2. release  done', '3. Git tag  done'];
    for (const [step, done] of taken.entries()) expect(stdout.includes(said[step]!)).toBe(done);
  });
});
