import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type Check, NotApplicable, poll } from '../check.ts';
import type { Run } from '../run.ts';
import { expectThat } from '../steps.ts';
import { presignedUrl } from './storage.ts';

const outbox = 'files?inbox=false&per_page=1';

/**
 * A cluster that sleeps answers the first caller with 503. This check asks the authorizer of the outbox, which every deployment has.
 * That authorizer looks for the user in the database once the visa is verified, and a deployment gets that user later.
 */
const paused: Check = {
  id: 'paused-database',
  title: 'the first request is answered, or is 503 with Retry-After until the database is awake',
  remedy:
    'Check the alarm and the log of AuthorizeOutbox. A cluster resumes in some 15 s; minCapacity 0.5 keeps it awake.',
  async run(run) {
    const started = Date.now();
    let refused = 0;
    await poll(
      async () => {
        const { reply, refusal } = await askOutbox(run);
        if (refusal !== undefined) throw new NotApplicable('the visa is refused before the database is asked');
        if (reply.status === 200 || reply.status === 401) return true;
        refused += 1;
        expectThat(reply.status === 503, `${reply.status}, expected 200, 503, or 401 for an unknown user`);
        expectThat(/^\d+$/.test(reply.headers['retry-after'] ?? ''), '503 without Retry-After');
        return undefined;
      },
      { seconds: 120, signal: run.signal, what: 'the database does not wake up' },
    );
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    return refused === 0 ? `it was awake: ${seconds} s` : `awake after ${seconds} s, ${refused} times 503`;
  },
};

/** One cause has one line: the checks that use the visa need this one. */
const visa: Check = {
  id: 'visa',
  title: 'the deployment takes the visa of this run',
  remedy: 'Check that its issuer, with its key, is in private/trusted-issuers.json, and deployed.',
  async run(run) {
    const { reply, refusal } = await askOutbox(run);
    expectThat(refusal === undefined, `${refusal}`);
    if (reply.status === 401) return 'it is verified; the user comes later';
    if (reply.status !== 200) throw new NotApplicable(`${reply.status}: it was not judged`);
    return '200';
  },
};

/** Ask for the outbox. @returns the reply, and why the visa was refused, if it was; the user may be unknown */
async function askOutbox(run: Run) {
  const reply = await run.send('proxy', { method: 'GET', path: outbox, headers: run.asResearcher });
  const isOfVisa = reply.status === 401 && !reply.text.includes('user name or password');
  return { reply, refusal: isOfVisa ? (/"detail":"([^"]+)"/.exec(reply.text)?.[1] ?? '401') : undefined };
}

export const presigned: Check = {
  id: 'presigned',
  title: 'an address serves ranges, no HEAD, and nothing once it has expired',
  needs: ['outbox'],
  remedy: 'Check the clock of this machine, and the policy of the outbox bucket.',
  async run(run) {
    const name = run.listed.find(({ size }) => size > 100)?.name ?? '';
    const { transport, signal } = run;
    const { url, size } = await run.researcher().location(name, { signal });
    const part = await transport.send({ url, headers: { range: 'bytes=10-19' }, signal });
    const bytes = await buffer(part.body);
    const contentRange = part.header('content-range');
    expectThat(part.status === 206 && bytes.length === 10, `range: ${part.status}, ${bytes.length} bytes`);
    expectThat(contentRange === `bytes 10-19/${size}`, `Content-Range is ${contentRange}`);
    const disposition = part.header('content-disposition') === undefined ? 'absent' : 'there';
    const short = await presignedUrl(run, 1);
    await pause(2500, undefined, { signal });
    for (const [what, method, address] of [['HEAD', 'HEAD', url] as const, ['after its life', 'GET', short] as const]) {
      const refused = await transport.send({ method, url: address, signal });
      await refused.discard();
      expectThat(refused.status === 403, `${what}: ${refused.status}, expected 403`);
    }
    return `206, 403 and 403; Content-Disposition on 206 is ${disposition}`;
  },
};

/** They come before all others. */
export const accessChecks = [paused, visa];
