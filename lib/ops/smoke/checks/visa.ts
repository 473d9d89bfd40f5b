import { type Check, poll } from '../check.ts';
import { expectThat } from '../expect-that.ts';

/**
 * One cause has one line: the checks that use the visa need this one. It asks the authorizer of the outbox, which every deployment
 * has, and which looks for the user in the database once the visa is verified. A cluster that sleeps answers the first with 503.
 */
export const visa: Check = {
  id: 'visa',
  title: 'the database wakes up, and the deployment takes the visa of this run',
  remedy:
    'If the visa is refused, check that its issuer, with its key, is in private/trusted-issuers.json, and deployed. Otherwise check the alarm and the log of AuthorizeOutbox. A cluster resumes in some 15 s; minCapacity 0.5 keeps it awake.',
  async run(run) {
    const started = performance.now();
    const request = { method: 'GET', path: 'files?inbox=false&per_page=1', headers: run.asResearcher };
    let refused = 0;
    await poll(run, 120, 'the database does not wake up', async () => {
      const { status, headers, text } = await run.send('delivery', request);
      // A deployment gets the user later.
      if (status === 200 || (status === 401 && text.includes('user name or password'))) return true;
      refused += 1;
      expectThat(status === 503, /"detail":"([^"]+)"/.exec(text)?.[1] ?? `${status}, expected 200, 401 or 503`);
      expectThat(/^\d+$/.test(headers['retry-after'] ?? ''), '503 without Retry-After');
      return undefined;
    });
    return `after ${((performance.now() - started) / 1000).toFixed(1)} s, ${refused} times 503`;
  },
};
