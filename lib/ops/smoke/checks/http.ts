import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { directChallenge, proxyChallenge } from '../../../contract/http.ts';
import { type Check, NotApplicable, poll } from '../check.ts';
import { sha256 } from '../files.ts';
import type { Run } from '../run.ts';
import { expectThat } from '../steps.ts';
import { needsDirectAccess } from './routes.ts';
import { presignedUrl } from './storage.ts';

const gatewayRemedy =
  'Compare the gateway responses of the API with the template (npx cdk diff), and deploy its stage again.';

/**
 * A cluster that sleeps answers the first caller with 503. So this check comes before all others. It asks the authorizer of the
 * outbox, which every deployment has. It looks for the user in the database once the visa is verified; a deployment gets that
 * user later.
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
        expectThat(/^\d+$/.test(reply.header('retry-after') ?? ''), '503 without Retry-After');
        return undefined;
      },
      { seconds: 120, signal: run.signal, what: 'the database does not wake up' },
    );
    const seconds = (Date.now() - started) / 1000;
    return refused === 0
      ? `it was awake: ${seconds.toFixed(1)} s. A cluster that may sleep does so after five minutes without statements`
      : `awake after ${seconds.toFixed(1)} s, ${refused} times 503`;
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
  const path = 'files?inbox=false&per_page=1';
  const reply = await run.send({ api: 'proxy', path, headers: run.asResearcher });
  const text = await reply.text();
  const isOfVisa = reply.status === 401 && !text.includes('user name or password');
  return { reply, refusal: isOfVisa ? (/"detail":"([^"]+)"/.exec(text)?.[1] ?? '401') : undefined };
}

const stream: Check = {
  id: 'stream',
  title: 'a plaintext over 6 MB comes as a stream, with the promised length',
  needs: ['archive', 'visa'],
  remedy: 'Check whether the method of GET /files/{fileId} has responseTransferMode STREAM.',
  async run(run) {
    needsDirectAccess(run);
    const { fileId, decryptedSize, sha256: digest } = run.large;
    const started = performance.now();
    const reply = await run.send({
      api: 'data-out',
      path: `files/${encodeURIComponent(fileId)}`,
      headers: run.asReader,
    });
    expectThat(reply.status === 200, `${reply.status}, expected 200`);
    let first: number | undefined;
    const chunks: Uint8Array[] = [];
    for await (const chunk of reply.body) {
      first ??= performance.now();
      // The transport may use the memory of a chunk again.
      chunks.push(Uint8Array.from(chunk));
    }
    const last = performance.now();
    expectThat(sha256(Buffer.concat(chunks)) === digest, 'the SHA-256 of what came is another one');
    expectThat(first !== undefined && first < last, 'the first byte did not come before the last');
    const promised = reply.header('content-length');
    expectThat(promised === String(decryptedSize), `Content-Length is ${promised}, not ${decryptedSize}`);
    const seconds = (from: number) => ((from - started) / 1000).toFixed(2);
    return `first byte after ${seconds(first)} s, last after ${seconds(last)} s`;
  },
};

const proxyAuthorization: Check = {
  id: 'proxy-authorization',
  title: 'the visa arrives in X-GA4GH-Visa; whether Proxy-Authorization passes is told',
  needs: ['archive', 'visa'],
  remedy: 'Check the log of AuthorizeOutbox: it says why a visa in X-GA4GH-Visa is refused.',
  async run(run) {
    const { authorization = '', ...visa } = run.asResearcher;
    const list = async (headers: Record<string, string>) => {
      const path = 'files?inbox=false&per_page=1';
      const reply = await run.send({ api: 'proxy', path, headers: { authorization, ...headers } });
      await reply.discard();
      return reply.status;
    };
    // A new user of the central archive is known at once; a slow database is tried again.
    const wait = { seconds: 60, signal: run.signal, what: 'the outbox does not answer' };
    const status = await poll(async () => {
      const answer = await list(visa);
      return answer === 503 ? undefined : answer;
    }, wait);
    expectThat(status === 200, `X-GA4GH-Visa: ${status}, expected 200`);
    const other = await list({ 'proxy-authorization': `Bearer ${run.visa}` });
    return other === 200
      ? 'both ways work'
      : `X-GA4GH-Visa works, Proxy-Authorization does not (${other}): clients send both`;
  },
};

const challenges: Check = {
  id: 'challenges',
  title: 'a request without credentials is 401 with the challenge',
  remedy: gatewayRemedy,
  async run(run) {
    const apis = [
      ['proxy', 'files?inbox=false', proxyChallenge],
      ...(run.apis.includes('data-out') ? ([['data-out', 'metadata/datasets', directChallenge]] as const) : []),
    ] as const;
    for (const [api, path, expected] of apis) {
      const reply = await run.send({ api, path });
      await reply.discard();
      const seen = reply.header('www-authenticate');
      expectThat(reply.status === 401 && seen === expected, `${api}: ${reply.status}, WWW-Authenticate ${seen}`);
    }
    return apis.map(([, , expected]) => expected).join('; ');
  },
};

const unknownRoute: Check = {
  id: 'unknown-route',
  title: 'an unknown route is 404 with a problem document and a request id',
  remedy: gatewayRemedy,
  async run(run) {
    const ids: string[] = [];
    for (const api of run.apis) {
      const reply = await run.send({ api, path: 'nothing/here' });
      const text = await reply.text();
      expectThat(reply.status === 404, `${api}: ${reply.status}, expected 404`);
      expectThat(reply.header('content-type')?.startsWith('application/problem+json') === true, `${api}: no problem`);
      // API Gateway always sends this header, and puts the id into the document.
      const id = reply.header('x-amzn-requestid') ?? '';
      expectThat(/^[0-9a-f-]{20,}$/i.test(id), `${api}: x-amzn-RequestId is ${id || 'absent'}`);
      expectThat(text.includes(`"requestId":"${id}"`), `${api}: the document has another request id`);
      ids.push(id);
    }
    return `404, request ${ids.join(' and ')}`;
  },
};

const encodings: Check = {
  id: 'path-encodings',
  title: 'an id with space, +, %, / and é in the path is found; a name with %2F or .. is not',
  needs: ['outbox'],
  remedy: 'API Gateway decodes paths in another way than the functions expect: report what was seen.',
  async run(run) {
    const [staged] = run.listed;
    const stream = async (path: string) => {
      const reply = await run.send({ api: 'proxy', path: `stream/${path}`, headers: run.asResearcher });
      await reply.discard();
      return reply.status;
    };
    const byQuery = await stream(`a+b?fileName=${encodeURIComponent(staged?.name ?? '')}`);
    expectThat(byQuery === 307, `+ in the path and the name in fileName: ${byQuery}, expected 307`);
    for (const path of ['..%2Fx', 'a%2Fb', '%252e%252e%252fx', '%25', 'a%20b', '%C3%A9']) {
      const status = await stream(path);
      expectThat(status === 404, `stream/${path}: ${status}, expected 404`);
    }
    if (!run.apis.includes('data-out')) return 'by the outbox alone: the deployment has no direct access';
    const { fileId } = run.awkward;
    const encoded = encodeURIComponent(fileId);
    const reply = await run.send({ api: 'data-out', method: 'HEAD', path: `files/${encoded}`, headers: run.asReader });
    expectThat(reply.status === 200, `files/${encoded}: ${reply.status}, expected 200`);
    return `${encoded} is found`;
  },
};

const presigned: Check = {
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
    const head = await transport.send({ method: 'HEAD', url, signal });
    expectThat(head.status === 403, `HEAD: ${head.status}, expected 403`);
    const short = await presignedUrl(run, 1);
    await pause(2500, undefined, { signal });
    const late = await transport.send({ url: short, signal });
    await late.discard();
    expectThat(late.status === 403, `after its life: ${late.status}, expected 403`);
    return `206, 403 and 403; Content-Disposition on 206 is ${disposition}`;
  },
};

export const firstChecks = [paused, visa];
export const httpChecks = [stream, proxyAuthorization, challenges, unknownRoute, encodings, presigned];
