import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Fault } from '../../lib/local/endpoint/traffic.ts';
import { expectProblem, type RawReply, rawRequest } from '../helpers/raw-http.ts';
import { basic, Service } from '../helpers/service.ts';

let service: Service;
let visa: string;
const name = 'EGAF00000000001-sample.bam.c4gh';
const theirs = 'EGAF00000000002-sample.bam.c4gh';
const content = 'crypt4gh: header and body';

beforeAll(async () => {
  service = await Service.shared();
  await service.putStaged('researcher', name, content);
  await service.putStaged('another recipient', theirs, 'theirs');
  visa = await service.visa();
});
afterAll(() => service?.stop());

const credentials = () => ({ Authorization: basic(service.connection.archiveUser) });

/** As the researcher. */
function get(path: string, method = 'GET'): Promise<RawReply> {
  const headers = { ...credentials(), 'X-GA4GH-Visa': visa };
  return rawRequest(service.connection.proxyUrl, path, { method, headers });
}

test('a path cannot put fields into the access log', async () => {
  for (const quote of ['"', '%22', '%5c%22']) await get(`stream/x${quote},${quote}user${quote}:${quote}forged`);
  const lines = service.logs.filter(({ functionName }) => functionName === 'proxy-access');
  expect(lines.length).toBeGreaterThanOrEqual(3);
  for (const { line } of lines) {
    expect(JSON.parse(line).user).toMatch(/^[0-9a-f]{64}$/);
    expect(line).not.toContain('forged');
  }
});

describe('GET and HEAD /stream', () => {
  const up = '%2e%2e%2f';
  const impossible = () => [
    theirs,
    'EGAF00000000009-none.c4gh',
    name.toLowerCase(),
    `${name}.`,
    `${name}%20`,
    `${name}%00`,
    `${name}%00.txt`,
    `${name}%0d%0aSet-Cookie:%20a=b`,
    `${name};v=1`,
    '..',
    '.',
    '%2e%2e',
    '%2E',
    `${up}${service.prefix('another recipient')}%2f${theirs}`,
    `${service.prefix('another recipient')}%2F${theirs}`,
    `..%5c${name}`,
    `.%2f${name}`,
    `x%2f${up}${name}`,
    `%252e%252e%252f${name}`,
    'a%2Fb',
    '%00',
    '+',
    '%20',
    '%',
    '%zz',
    '%c0%ae%c0%ae',
    '%ff',
    '%EF%BC%8E%EF%BC%8E',
    '*',
    `${'a'.repeat(251)}.c4gh`,
    // More than a key may have, less than the gateway refuses itself (414).
    'a'.repeat(1400),
  ];

  test('impossible names, missing files and files of others: the same 404, and no key outside of the caller’s part', async () => {
    const keys: (string | undefined)[] = [];
    const stop = service.engine.traffic.observe((call) => {
      if (call.caller === 'stream' && call.service === 's3') keys.push(call.key);
    });
    const answers = new Set<string>();
    for (const file of impossible()) {
      for (const path of [`stream/${file}`, `stream/x?fileName=${file}`, `stream/${name}?fileName=${file}`]) {
        const { requestId, ...rest } = expectProblem(await get(path), 404, 'not_found');
        expect(requestId).toBeDefined();
        answers.add(JSON.stringify(rest));
      }
      expect(await get(`stream/${file}`, 'HEAD')).toMatchObject({ status: 404, text: '' });
    }
    stop();
    expect(answers.size).toBe(1);
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) expect(key).toMatch(new RegExp(`^${service.prefix('researcher')}/[A-Za-z0-9._-]+$`));
  });

  test('a path that is longer than an authorizer can be asked about is 414; a name that long may go in the query', async () => {
    expectProblem(await get(`stream/${'a'.repeat(1600)}`), 414, 'invalid_request');
    expectProblem(await get(`stream/x?fileName=${'a'.repeat(6000)}`), 404, 'not_found');
  });

  test.each([
    [`stream/../stream/${name}`],
    [`stream//${name}`],
    ['stream/'],
    ['stream'],
    [`stream/${name}/x`],
    [`stream/x/../${name}`],
    [`files/../stream/${name}`],
  ])('%s is not a resource: 404', async (path) => {
    expectProblem(await get(path), 404, 'not_found');
  });

  test('the query’s fileName wins over the path, and an empty one does not count', async () => {
    for (const path of [`stream/EGAF1+sample.c4gh?fileName=${name}`, `stream/${theirs}?fileName=${name}`]) {
      expect((await get(path)).headers.location).toContain(`/${service.prefix('researcher')}/${name}?`);
    }
    expect((await get(`stream/${name}?fileName=`)).status).toBe(307);
    const twice = await get(`stream/${name}?fileName=${name}&fileName=${theirs}`);
    expect(expectProblem(twice, 400, 'invalid_request').violations).toMatchObject([{ field: 'fileName' }]);
  });

  test('HEAD tells the size and does not redirect', async () => {
    for (const path of [`stream/${name}`, `stream/${name}?redirect=false`]) {
      const reply = await get(path, 'HEAD');
      expect(reply).toMatchObject({ status: 200, text: '' });
      expect(reply.headers).toMatchObject({
        // API Gateway counts it again, of the reply's own body.
        'content-length': '0',
        'x-amzn-remapped-content-length': String(content.length),
        'x-file-size': String(content.length),
        'accept-ranges': 'bytes',
        'cache-control': 'no-store',
        etag: expect.stringMatching(/^"[^"]+"$/),
      });
      expect(reply.headers.location).toBeUndefined();
    }
  });

  test('redirect=false gives the same URL as JSON, which no cache may keep', async () => {
    const reply = await get(`stream/${name}?redirect=FALSE`);
    expect(reply.headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/json' });
    const { url, expiresAt, size } = JSON.parse(reply.text) as { url: string; expiresAt: string; size: number };
    expect(size).toBe(content.length);
    expect(await (await fetch(url)).text()).toBe(content);
    const parameters = new URL(url).searchParams;
    expect(parameters.get('X-Amz-Expires')).toBe('900');
    const signedAt = parameters.get('X-Amz-Date')?.replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5') ?? '';
    expect(Date.parse(expiresAt) - Date.parse(signedAt)).toBe(900_000);
    for (const value of ['0', '', 'no']) {
      const refused = await get(`stream/${name}?redirect=${value}`);
      expect(expectProblem(refused, 400, 'invalid_request').violations).toMatchObject([{ field: 'redirect' }]);
    }
  });

  test.each([
    ['fails', { error: { status: 500, code: 'InternalError' } }, 503, 'temporarily_unavailable'],
    ['slows down', { error: { status: 503, code: 'SlowDown' } }, 503, 'temporarily_unavailable'],
    ['breaks the connection', { drop: true }, 503, 'temporarily_unavailable'],
    ['refuses the function', { error: { status: 403, code: 'AccessDenied' } }, 500, 'internal_error'],
  ] as const)('S3 %s: never a 404', async (_, fault: Fault, status, code) => {
    const heal = service.engine.traffic.addFault(({ caller }) => (caller === 'stream' ? fault : undefined));
    const problem = expectProblem(await get(`stream/${name}`).finally(heal), status, code);
    expect(JSON.stringify(problem)).not.toMatch(/s3|bucket|AccessDenied/i);
    expect((await get(`stream/${name}`)).status).toBe(307);
  });
});

describe('a presigned URL', () => {
  let url: URL;
  beforeAll(async () => {
    const reply = await get(`stream/${name}`);
    expect([reply.status, reply.text]).toEqual([307, '']);
    expect(reply.headers['cache-control']).toBe('no-store');
    url = new URL(reply.headers.location ?? '');
  });
  const changed = (change: (copy: URL) => unknown) => {
    const copy = new URL(url);
    change(copy);
    return copy;
  };

  test('serves ranges and names the download', async () => {
    const part = await fetch(url, { headers: { Range: 'bytes=10-15' } });
    expect([part.status, await part.text()]).toEqual([206, 'header']);
    expect(part.headers.get('content-range')).toBe(`bytes 10-15/${content.length}`);
    expect(part.headers.get('content-disposition')).toBe(`attachment; filename="${name}"`);
    expect((await fetch(url, { headers: { Range: `bytes=${content.length}-` } })).status).toBe(416);
  });

  test('ignores the visa, which clients send on to the redirection’s target', async () => {
    const headers = { 'X-GA4GH-Visa': visa, 'Proxy-Authorization': `Bearer ${visa}` };
    expect((await rawRequest(url.origin, `${url.pathname.slice(1)}${url.search}`, { headers })).text).toBe(content);
  });

  test('refuses Authorization beside it', async () => {
    expect((await fetch(url, { headers: credentials() })).status).toBe(400);
  });

  test.each(['HEAD', 'PUT', 'DELETE', 'POST'])('refuses %s', async (method) => {
    const body = method === 'PUT' ? { body: 'x' } : {};
    expect((await fetch(url, { method, ...body })).status).toBe(403);
    expect(await (await fetch(url)).text()).toBe(content);
  });

  test('refuses every change of what was signed', async () => {
    const bucket = service.connection.outputs.OutboxBucketName;
    const signature = url.searchParams.get('X-Amz-Signature') ?? '';
    const changes: readonly ((copy: URL) => unknown)[] = [
      ({ searchParams }) =>
        searchParams.set(
          'X-Amz-Signature',
          signature.replace(/^./, (c) => (c === '0' ? '1' : '0')),
        ),
      ({ searchParams }) => searchParams.set('X-Amz-Expires', '604800'),
      ({ searchParams }) => searchParams.set('response-content-disposition', 'inline'),
      ({ searchParams }) => searchParams.set('response-content-type', 'text/html'),
      ({ searchParams }) => searchParams.set('versionId', 'x'),
      ({ searchParams }) => searchParams.delete('X-Amz-Signature'),
      (copy) => Object.assign(copy, { search: '' }),
      (copy) => Object.assign(copy, { pathname: copy.pathname.replace(name, 'other.c4gh') }),
      (copy) => Object.assign(copy, { pathname: `/${bucket}/${service.prefix('another recipient')}/${theirs}` }),
    ];
    for (const change of changes) {
      const refused = await fetch(changed(change));
      expect([refused.status, (await refused.text()).includes(content)]).toEqual([403, false]);
    }
  });
});
