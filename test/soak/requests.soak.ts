import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forEachConcurrently } from '../../lib/common/concurrently.ts';
import { operations, rightCase } from '../../lib/ops/smoke/conformance/operations.ts';
import { requestOf } from '../../lib/ops/smoke/conformance/request.ts';
import type { ApiName, Run } from '../../lib/ops/smoke/run.ts';
import type { WireRequest } from '../../lib/ops/smoke/wire.ts';
import { Seeded } from '../fuzz/seeded.ts';
import { copyWithSettings } from '../helpers/assembly-with-settings.ts';
import { conformanceRun } from '../helpers/conformance-run.ts';
import { OpenApi } from '../helpers/openapi.ts';
import { type RawReply, rawRequest } from '../helpers/raw-http.ts';
import { Service } from '../helpers/service.ts';
import { MemoryWatch } from './memory.ts';
import { Others } from './others.ts';
import { RandomFaults } from './random-faults.ts';
import { type Ingredients, randomRequest, type SoakRequest } from './random-request.ts';
import { print, requests, seed, sizeOf } from './size.ts';

/** Random and changed requests to every route of both documents. In the second half, one AWS call in twenty goes wrong. */

/** Longest time of a request, in milliseconds. */
const patienceMs = 10_000;
/** Statuses of the gateway for a request that reaches no documented operation. */
const refusals: readonly number[] = [400, 403, 404, 413, 414, 431];

const apis = { delivery: OpenApi.read('delivery'), direct: OpenApi.read('direct', 'all') };
let folder: string;
let service: Service;
let run: Run;
let others: Others;
let ingredients: Ingredients;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-soak-'));
  await copyWithSettings(folder, { adminPage: true, compatibility: ['sda', 'ega'] });
  service = await Service.start({ assemblyDir: folder });
  ({ run } = await conformanceRun(service, undefined, { sda: true, ega: true }));
  others = await Others.make(service, ['bertha', 'clara']);
  const good: Record<string, WireRequest> = {};
  for (const operation of operations) good[operation] = await requestOf(rightCase(operation).operation, run, '');
  const names = [...others.names, ...Object.values(good).flatMap(({ path }) => path.split(/[/?]/))];
  ingredients = { good, tokens: await tokens(run.visa), names };
  // Each function has its processes, so that a cold start on a busy machine does not count as a hang.
  const calls = Object.entries(good);
  await forEachConcurrently([...calls, ...calls], 6, async ([operation, request]) => {
    await run.send(operation.split(' ')[0] as ApiName, request);
  });
});
afterAll(async () => {
  await run?.[Symbol.asyncDispose]();
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The caller's tokens, and those of no use: expired, and with another's claims under the caller's signature. */
async function tokens(visa: string): Promise<readonly string[]> {
  const [header, , signature] = visa.split('.');
  const foreign = await service.visa({ subject: 'bertha', datasetId: 'EGAD00000099000' });
  const unsigned = Buffer.from('{"alg":"none","typ":"vnd.ga4gh.visa+jwt"}').toString('base64url');
  const expired = await service.visa({ claims: { iat: 1, exp: 2 } });
  const passport = await service.passport(run.ids.username, [visa, expired]);
  const mixed = await service.passport(run.ids.username, [visa, foreign.replace(/[^.]+$/, signature ?? '')]);
  const [, claims] = foreign.split('.');
  return [visa, passport, mixed, expired, `${header}.${claims}.${signature}`, `${unsigned}.${claims}.`, 'x'];
}

/** The reply, and the bytes behind a redirect. @throws Error when it takes too long */
async function answer(request: SoakRequest): Promise<{ reply: RawReply; behind: Buffer }> {
  const { api, path, method, headers, body } = request;
  const { proxyUrl, dataOutUrl } = service.connection;
  const waiting = new AbortController();
  const late = pause(patienceMs, undefined, { signal: waiting.signal }).then(() => {
    throw new Error(`no answer within ${patienceMs} ms`);
  });
  const exchange = async () => {
    // Node leaves the length out with GET. The body would then be read as the next request.
    const framed = body && { body, headers: { ...headers, 'Content-Length': String(body.length) } };
    const init = { method, headers, ...framed };
    const reply = await rawRequest(api === 'delivery' ? proxyUrl : dataOutUrl, path, init);
    const { location } = reply.headers;
    if (location === undefined) return { reply, behind: Buffer.alloc(0) };
    const target = await fetch(location, { headers: { Range: 'bytes=0-199999' } });
    return { reply, behind: Buffer.from(await target.arrayBuffer()) };
  };
  try {
    return await Promise.race([exchange(), late]);
  } finally {
    waiting.abort();
    late.catch(() => undefined);
  }
}

/** Whether a documented path has these segments, none of them empty. */
function isDocumented(api: ApiName, method: string, path: string): boolean {
  const segments = path.split('/');
  return apis[api].operations.some((operation) => {
    const [verb, template = ''] = operation.split(' ');
    const parts = template.split('/');
    const fits = (part: string, index: number) =>
      part.startsWith('{') ? segments[index] !== '' : part === segments[index];
    return verb === method && parts.length === segments.length && parts.every(fits);
  });
}

/** @throws Error when the reply is not what the document says, or holds data of others */
async function check(request: SoakRequest, { reply, behind }: Awaited<ReturnType<typeof answer>>, mayFail: boolean) {
  const { api, method } = request;
  const [called = ''] = `/${request.path}`.split('?');
  // For API Gateway a slash at the end is the same resource.
  // The id of a ticket and the path of sda-cli can have their own slashes.
  const path = called
    .replace(/(?<=.)\/$/, '')
    .replace(/(?<=^\/(?:htsget\/(?:reads|variants|files|sda\/reads)|s3\/[^/]+)\/).+/, (id) =>
      id.replaceAll('/', '%2F'),
    );
  const { status, headers, bytes } = reply;
  const leaked = others.foundIn(Buffer.concat([Buffer.from(JSON.stringify(headers)), bytes, behind]), request);
  if (leaked.length > 0) throw new Error(`the reply has ${leaked.join(', ')}`);
  // A reply may break off in the middle only where a call has failed.
  if (!reply.complete && !mayFail) throw new Error(`${status}, and broken off`);
  if (status >= 500 && !mayFail) throw new Error(`${status}: ${reply.text.slice(0, 300)}`);
  if (!reply.complete) return;
  if (isDocumented(api, method, path)) {
    const entries = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
    await apis[api].check({ method, path, status, headers: entries, body: bytes });
  } else if (!refusals.includes(status)) {
    throw new Error(`${status} of no documented operation: ${reply.text.slice(0, 300)}`);
  }
}

function describe({ body, ...request }: SoakRequest): string {
  return JSON.stringify({ ...request, body: body?.subarray(0, 300).toString('latin1') });
}

test('no request gets a 5xx, hangs, or gets data of others; each reply fits the document', async () => {
  print(`\n== ${sizeOf(requests, 'requests')}; seed: ${seed} (SOAK_SEED)`);
  const faults = new RandomFaults(new Seeded(`${seed} requests`), service.engine.functions.names, 20);
  const memory = new MemoryWatch(service, requests.count);
  const statuses = new Map<number, number>();
  const wrong: string[] = [];
  let done = 0;
  const ask = (from: number, to: number) => {
    const numbers = Array.from({ length: to - from }, (_, index) => from + index);
    return forEachConcurrently(numbers, 6, async (number) => {
      const request = randomRequest(new Seeded(`${seed} request ${number}`), number, ingredients);
      const faultsBefore = faults.total;
      try {
        const answered = await answer(request);
        const { status } = answered.reply;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await check(request, answered, faults.total > faultsBefore);
      } catch (error) {
        wrong.push(`request ${number}: ${error}\n${describe(request)}`);
      }
      done += 1;
      memory.look(done);
    });
  };
  const started = performance.now();
  const half = Math.ceil(requests.count / 2);
  await ask(0, half);
  const undo = service.engine.traffic.addFault(faults.rule);
  await ask(half, requests.count).finally(undo);
  const seconds = (performance.now() - started) / 1_000;
  print(`${seconds.toFixed(0)} s, ${(done / seconds).toFixed(1)} requests/s`);
  print(
    [...statuses]
      .sort(([a], [b]) => a - b)
      .map(([status, count]) => `${status}: ${count}`)
      .join(', '),
  );
  print(`${faults.total} faults:\n${faults.summary}`);
  memory.check();
  if (wrong.length > 0)
    throw new Error(`${wrong.length} requests with seed ${seed}:\n${wrong.slice(0, 20).join('\n')}`);
  const reached = new Set([...apis.delivery.seen, ...apis.direct.seen].map((name) => name.replace(/ \d+$/, '')));
  const documented = [...apis.delivery.operations, ...apis.direct.operations];
  expect(documented.filter((operation) => !reached.has(operation))).toEqual([]);
});
