import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Admission } from '../../../../lib/client/serve/admission.ts';
import type { Names, OpenFile } from '../../../../lib/client/serve/folder.ts';
import { type Served, serve } from '../../../../lib/client/serve/server.ts';
import { generateKeyPair, openContainer } from '../../../../lib/crypt4gh/index.ts';
import type { Failure } from '../../../../lib/terminal/failure.ts';
import { containerOf } from '../../../helpers/client-world.ts';
import { generatedPlaintext } from '../../../helpers/crypt4gh-vectors.ts';
import { type RawRequest, rawRequest } from '../../../helpers/raw-http.ts';
import { bytesSource } from '../../../helpers/recording-source.ts';

/** The HTTP of `data-out serve`, with files in memory. */

const plaintext = generatedPlaintext('serve', 300_000);
const keys = generateKeyPair();
const token = 'secret-of-this-run';
const hostile = '"><script>alert(1)</script>&amp;.txt';
const changed = 'Wed, 01 Jan 2025 12:00:00 GMT';
const failures: [string, string][] = [];
let container: Buffer;
let empty: Buffer;
let owner: number | undefined;
let looked: number;
let served: Served;

async function plainFile(bytes: Buffer): Promise<OpenFile> {
  const reader = await openContainer(bytesSource(bytes), { privateKeys: [keys.privateKey], segmentsPerFetch: 1 });
  const stream = (start: number, end: number) => reader.stream(start, end);
  return { size: reader.size ?? 0, etag: '"v1"', lastModified: changed, stream };
}
function damaged(at: number): Buffer {
  const bytes = Buffer.from(container);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return bytes;
}

async function start(admission: Partial<Admission> = {}): Promise<Served> {
  const inner: Names = new Map<string, () => Promise<OpenFile>>([
    ['s%41 #?.bam', () => plainFile(container)],
    [hostile, () => plainFile(container)],
    ['first.bam', () => plainFile(damaged(124 + 100))],
    ['late.bam', () => plainFile(damaged(container.length - 100))],
    ['empty.txt', () => plainFile(empty)],
    ['gone.bam', () => Promise.reject(new Error('no network'))],
  ]);
  const folders = new Map<string, Names>([
    ['', new Map([['run 1', undefined]])],
    ['run 1', inner],
  ]);
  const failureOf = (error: unknown): Failure => {
    const { message } = error as Error;
    return message === 'no network'
      ? { exitCode: 7, code: 'unavailable', message, remedy: 'Wait.' }
      : { exitCode: 8, code: 'damaged', message };
  };
  return await serve({
    port: 0,
    find: async (path) => folders.get(path.join('/')),
    admission: { token, origins: ['https://igv.example'], ownerOf: undefined, user: 1000, ...admission },
    failureOf,
    failed: (path, { code }) => void failures.push([path, code]),
  });
}

beforeAll(async () => {
  container = await containerOf(plaintext, keys.publicKey);
  empty = await containerOf(Buffer.alloc(0), keys.publicKey);
});
beforeEach(async () => {
  failures.length = 0;
  owner = 1000;
  looked = 0;
  const ownerOf = async () => {
    looked += 1;
    return owner;
  };
  served = await start({ ownerOf });
});
afterEach(() => served.close());

const ask = (path: string, init: RawRequest = {}) => {
  const host = `127.0.0.1:${served.port}`;
  return rawRequest(`http://${host}/`, path, { ...init, headers: { host, ...init.headers } });
};
const get = (path: string, init?: RawRequest) => ask(`${token}/${path}`, init);
const sample = 'run%201/s%2541%20%23%3F.bam';
const codeOf = ({ status, text }: { status: number; text: string }) => [status, JSON.parse(text).code];

describe('a file', () => {
  test('has size, tag and type, and no other site learns of it', async () => {
    const reply = await get(sample, { method: 'HEAD' });
    expect([reply.status, reply.bytes.length]).toEqual([200, 0]);
    expect(reply.headers).toMatchObject({
      'content-length': '300000',
      'content-type': 'application/octet-stream',
      'accept-ranges': 'bytes',
      etag: '"v1"',
      'last-modified': changed,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    });
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
  });

  test.each<[string, Record<string, string>, number, number, number]>([
    ['whole', {}, 200, 0, 300_000],
    ['a range', { range: 'bytes=65000-66000' }, 206, 65_000, 66_001],
    ['to the end', { range: 'bytes=299990-' }, 206, 299_990, 300_000],
    ['the last bytes', { range: 'bytes=-10' }, 206, 299_990, 300_000],
    ['beyond the end', { range: 'bytes=299990-999999' }, 206, 299_990, 300_000],
    ['several ranges, which are ignored', { range: 'bytes=0-1,5-6' }, 200, 0, 300_000],
    ['a range of the same version', { range: 'bytes=0-9', 'if-range': '"v1"' }, 206, 0, 10],
    ['a range of another version', { range: 'bytes=0-9', 'if-range': '"v0"' }, 200, 0, 300_000],
  ])('goes out %s', async (_, headers, status, from, to) => {
    const reply = await get(sample, { headers });
    expect([reply.status, reply.headers['content-length'], reply.complete]).toEqual([status, `${to - from}`, true]);
    expect(reply.headers['content-range']).toBe(status === 206 ? `bytes ${from}-${to - 1}/300000` : undefined);
    expect(reply.bytes.equals(plaintext.subarray(from, to))).toBe(true);
  });

  test('is refused beyond its end, and to writers', async () => {
    const unsatisfiable = await get(sample, { headers: { range: 'bytes=300000-' } });
    expect([...codeOf(unsatisfiable), unsatisfiable.headers['content-range']]).toEqual([
      416,
      'range_not_satisfiable',
      'bytes */300000',
    ]);
    const posted = await get(sample, { method: 'DELETE' });
    expect([...codeOf(posted), posted.headers.allow]).toEqual([405, 'method_not_allowed', 'GET, HEAD, OPTIONS']);
  });

  test('that is damaged gives a problem at its start, and breaks off later', async () => {
    expect(codeOf(await get('run%201/first.bam'))).toEqual([502, 'damaged']);
    const late = await get('run%201/late.bam');
    expect([late.status, late.complete]).toEqual([200, false]);
    expect(late.bytes.equals(plaintext.subarray(0, late.bytes.length))).toBe(true);
    expect(failures).toEqual([
      ['/run 1/first.bam', 'damaged'],
      ['/run 1/late.bam', 'damaged'],
    ]);
  });

  test('without a network gives a problem with what to do', async () => {
    const reply = await get('run%201/gone.bam');
    expect([reply.status, reply.headers['content-type']]).toEqual([503, 'application/problem+json']);
    expect(JSON.parse(reply.text)).toEqual({ status: 503, code: 'unavailable', detail: 'no network', remedy: 'Wait.' });
  });
});

describe('an index', () => {
  test('is a page of links with every name escaped', async () => {
    const { headers, text } = await get('run%201/');
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(text).not.toContain('<script>');
    const links = [...text.matchAll(/<a href="([^"]*)">([^<]*)<\/a>/g)].map(([, href, shown]) => [href, shown]);
    expect(links).toContainEqual([
      './%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E%26amp%3B.txt',
      '&#34;&#62;&#60;script&#62;alert(1)&#60;/script&#62;&#38;amp;.txt',
    ]);
    const base = new URL(`${served.url}run%201/`);
    const target = new URL(links.find(([, shown]) => shown === 's%41 #?.bam')?.[0] ?? '', base);
    expect(target.href).toBe(`${served.url}${sample}`);
  });
});

describe('a request that is refused', () => {
  test.each(['evil.example', `evil.example:80`, '127.0.0.1', 'localhost', '127.0.0.1:1', '[::1]:80', ''])(
    'comes for another host, as by DNS rebinding: %s',
    async (host) => {
      expect(codeOf(await get(sample, { headers: { host } }))).toEqual([421, 'wrong_host']);
      expect((await get(sample, { headers: { host: `localhost:${served.port}` } })).status).toBe(200);
    },
  );

  test.each<Record<string, string>>([
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:1' },
    { origin: 'https://igv.example.evil.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('comes from a foreign page: %o', async (headers) => {
    const reply = await get(sample, { headers });
    expect(codeOf(reply)).toEqual([403, 'foreign_page']);
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    const preflight = await get(sample, { method: 'OPTIONS', headers });
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([403, undefined]);
  });

  test('comes from another user of this machine, or from nobody known', async () => {
    for (const other of [1001, 0, undefined]) {
      owner = other;
      expect(codeOf(await get(sample))).toEqual([403, 'other_user']);
    }
    expect(looked).toBe(3);
  });

  test.each([
    '',
    'x',
    'secret-of-this-ru/',
    'secret-of-this-runs/',
    'SECRET-OF-THIS-RUN/',
    'favicon.ico',
    '%zz/',
    '../',
  ])('has not the token: /%s', async (path) => {
    expect(codeOf(await ask(path))).toEqual([404, 'not_found']);
  });

  test.each([
    'run%201/../../etc/passwd',
    'run%201/%2e%2e/',
    'run%201/..%2f..%2fx',
    'run%201//',
    '%00',
    'run%201/.',
    'no/',
  ])('leads nowhere: %s', async (path) => {
    expect(codeOf(await get(path))).toEqual([404, 'not_found']);
  });
});

describe('a page that the user has named', () => {
  test('may read, and its preflight says what', async () => {
    const origin = 'https://igv.example';
    const headers = { origin };
    const preflight = await get(sample, { method: 'OPTIONS', headers });
    expect(preflight.status).toBe(204);
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, HEAD, OPTIONS',
      'access-control-allow-headers': expect.stringContaining('Range'),
      vary: 'Origin',
    });
    const reply = await get(sample, { headers: { origin, 'sec-fetch-site': 'cross-site', range: 'bytes=0-9' } });
    expect([reply.status, reply.headers['access-control-allow-origin']]).toEqual([206, origin]);
    expect(reply.headers).not.toHaveProperty('access-control-allow-credentials');
  });

  test('still needs the token', async () => {
    expect((await ask('x', { headers: { origin: 'https://igv.example' } })).status).toBe(404);
  });
});
