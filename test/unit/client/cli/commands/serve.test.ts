import { mkdir, mkdtemp, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { formatPrivateKey, generateKeyPair, parsePublicKey } from '../../../../../lib/crypt4gh/index.ts';
import { runCli } from '../../../../helpers/cli-run.ts';
import { containerOf } from '../../../../helpers/client-world.ts';
import { generatedPlaintext } from '../../../../helpers/crypt4gh-vectors.ts';
import { blocksOf } from '../../../../helpers/pages.ts';
import { type RunningServe, startServe } from '../../../../helpers/running-serve.ts';

/** `data-out serve` beside a service in this process, and on a folder. */

const plaintext = generatedPlaintext('serve', 200_000);
const mine = generateKeyPair();
const running: RunningServe[] = [];
let folder: string;
let server: Server;
let calls: string[];
let clock: number;
/** Changes when the archived body is replaced. */
let version: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-serve-'));
  await writeFile(join(folder, 'visa.jwt'), 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl');
  await writeFile(join(folder, 'me.sec.pem'), await formatPrivateKey(mine.privateKey), { mode: 0o600 });
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  calls = [];
  clock = Date.parse('2026-01-01T00:00:00Z');
  version = '1';
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.end()));
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

const files = [
  { fileId: 'EGAF1', fileName: 'run 1/sample.bam.c4gh' },
  { fileId: 'EGAF2', fileName: 'run 1/sample.bam.c4gh' },
  { fileId: 'EGAF3', fileName: '../../etc/<b>.txt' },
  { fileId: 'EGAF4', fileName: 'run 1/sample.bam/inside.txt' },
].map((row) => ({ ...row, datasetId: 'EGAD1', displayFileName: 'x', decryptedFileSize: plaintext.length }));
const containers = new Map<string, Buffer>();

/** The data-out API and its storage, as docs/api.md has them. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  calls.push(pathname);
  const json = (value: unknown) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
  const [, fileId = '', half] = /^\/v1\/files\/(\w+)\/(header|content)$/.exec(pathname) ?? [];
  if (pathname === '/v1/metadata/datasets') return json(['EGAD1']);
  if (pathname === '/v1/metadata/datasets/EGAD1/files') return json(files);
  if (half === 'header') {
    const key = request.headers['x-c4gh-public-key'];
    const container = await containerOf(plaintext, parsePublicKey(Buffer.from(String(key), 'base64')));
    containers.set(`/body/${fileId}`, container.subarray(124));
    return response.end(container.subarray(0, 124));
  }
  const size = plaintext.length + 4 * 28;
  if (half === 'content') {
    const url = `http://${request.headers.host}/body/${fileId}`;
    return json({ url, expiresAt: new Date(Date.now() + 900_000).toISOString(), size });
  }
  const body = containers.get(pathname);
  if (body === undefined) return response.writeHead(404).end();
  if (request.headers['if-match'] !== undefined && request.headers['if-match'] !== `"${version}"`) {
    return response.writeHead(412).end();
  }
  const [, from = '0', to = `${size - 1}`] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  response.writeHead(request.headers.range ? 206 : 200, {
    etag: `"${version}"`,
    'last-modified': 'Wed, 01 Jan 2025 12:00:00 GMT',
    'content-length': Number(to) + 1 - Number(from),
    ...(request.headers.range && { 'content-range': `bytes ${from}-${to}/${size}` }),
  });
  return response.end(body.subarray(Number(from), Number(to) + 1));
}

async function start(...argv: string[]): Promise<RunningServe> {
  const { port } = server.address() as AddressInfo;
  const env = { DATA_OUT_DIRECT_URL: `http://127.0.0.1:${port}/v1/`, DATA_OUT_VISA_FILE: 'visa.jwt' };
  const served = await startServe(argv, { folder, env, now: () => new Date(clock) });
  running.push(served);
  return served;
}
const names = async (url: string) => {
  const { folders, files: shown } = (await (await fetch(`${url}?format=json`)).json()) as {
    folders: string[];
    files: { name: string }[];
  };
  return [folders, shown.map(({ name }) => name)];
};
const bytesAt = async (url: string, range: string) =>
  Buffer.from(await (await fetch(url, { headers: { range } })).arrayBuffer());

describe('datasets', () => {
  test('show each file once, and no path leads out of its dataset', async () => {
    const { url } = await start();
    expect(await names(url)).toEqual([['datasets'], []]);
    expect(await names(`${url}datasets/EGAD1/`)).toEqual([['__', 'run 1'], []]);
    expect(await names(`${url}datasets/EGAD1/__/__/etc/`)).toEqual([[], ['_b_.txt']]);
    const inner = ['EGAF2-sample.bam', 'EGAF4-inside.txt', 'sample.bam'];
    expect(await names(`${url}datasets/EGAD1/run%201/`)).toEqual([[], inner]);
  });

  test('open a file by its two halves, once for many reads, and ask the service again after five minutes', async () => {
    const { url } = await start();
    const sample = `${url}datasets/EGAD1/run%201/sample.bam`;
    const reply = await fetch(sample, { headers: { range: 'bytes=65530-131080' } });
    expect(Buffer.from(await reply.arrayBuffer()).equals(plaintext.subarray(65_530, 131_081))).toBe(true);
    expect(reply.headers.get('last-modified')).toBe('Wed, 01 Jan 2025 12:00:00 GMT');
    expect((await bytesAt(sample, 'bytes=0-9')).equals(plaintext.subarray(0, 10))).toBe(true);
    const asked = () => calls.filter((call) => call.startsWith('/v1/')).toSorted();
    const once = [
      '/v1/files/EGAF1/content',
      '/v1/files/EGAF1/header',
      '/v1/metadata/datasets',
      '/v1/metadata/datasets/EGAD1/files',
    ];
    expect(asked()).toEqual(once);
    clock += 5 * 60_000;
    expect((await bytesAt(sample, 'bytes=0-9')).equals(plaintext.subarray(0, 10))).toBe(true);
    expect(asked()).toEqual([...once, ...once].sort());
  });

  test('notice that storage has another version of a body, and open that one', async () => {
    const served = await start();
    const sample = `${served.url}datasets/EGAD1/run%201/sample.bam`;
    await bytesAt(sample, 'bytes=0-9');
    version = '2';
    expect((await fetch(sample, { headers: { range: 'bytes=150000-' } })).status).toBe(503);
    expect(served.said()).toContain('replaced');
    expect((await bytesAt(sample, 'bytes=150000-')).equals(plaintext.subarray(150_000))).toBe(true);
  });

  test('answer with a problem when the network is lost, and continue when it is back', async () => {
    const served = await start();
    const sample = `${served.url}datasets/EGAD1/run%201/sample.bam`;
    await bytesAt(sample, 'bytes=0-9');
    const { port } = server.address() as AddressInfo;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const reply = await fetch(sample, { headers: { range: 'bytes=150000-' } });
    expect([reply.status, await reply.json()]).toEqual([503, expect.objectContaining({ code: 'unavailable' })]);
    expect(served.said().match(/sample\.bam: 127\.0\.0\.1:\d+: no service listens there/g)).toHaveLength(1);
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    expect((await bytesAt(sample, 'bytes=150000-')).equals(plaintext.subarray(150_000))).toBe(true);
  });
});

describe('a folder', () => {
  beforeEach(async () => {
    await mkdir(join(folder, 'data/runs'), { recursive: true });
    await writeFile(join(folder, 'data/runs/one.bam.c4gh'), await containerOf(plaintext, mine.publicKey));
    await writeFile(join(folder, 'data/foreign.c4gh'), await containerOf(plaintext, generateKeyPair().publicKey));
    await writeFile(join(folder, 'data/two.c4gh.part'), 'x');
    await writeFile(join(folder, 'data/.hidden.c4gh'), 'x');
    await symlink('/etc', join(folder, 'data/etc'));
    await symlink(join(folder, 'visa.jwt'), join(folder, 'data/visa.c4gh'));
  });
  const local = () => start('data', '--key', 'me.sec.pem');

  test('shows its containers by the names of their plaintexts, and follows no link', async () => {
    const { url } = await local();
    expect(await names(url)).toEqual([['datasets', 'folder'], []]);
    expect(await names(`${url}folder/`)).toEqual([['runs'], ['foreign']]);
    expect(await names(`${url}folder/runs/`)).toEqual([[], ['one.bam']]);
    const whole = await (await fetch(`${url}folder/runs/one.bam`)).arrayBuffer();
    expect(Buffer.from(whole).equals(plaintext)).toBe(true);
    for (const path of ['etc/', 'etc/passwd', 'visa', 'runs/one.bam.c4gh', 'foreign/x', 'runs/..%2fforeign']) {
      expect([path, (await fetch(`${url}folder/${path}`)).status]).toEqual([path, 404]);
    }
    expect(calls).toEqual([]);
  });

  test('gives a replaced file again, under another tag', async () => {
    const { url } = await local();
    const one = `${url}folder/runs/one.bam`;
    const { mtime } = await stat(join(folder, 'data/runs/one.bam.c4gh'));
    const { headers } = await fetch(one, { method: 'HEAD' });
    expect(headers.get('last-modified')).toBe(mtime.toUTCString());
    const etag = headers.get('etag') ?? '';
    const other = plaintext.toReversed();
    await writeFile(join(folder, 'data/new'), await containerOf(other, mine.publicKey));
    await rename(join(folder, 'data/new'), join(folder, 'data/runs/one.bam.c4gh'));
    const reply = await fetch(one, { headers: { range: 'bytes=0-9', 'if-range': etag } });
    expect([reply.status, Buffer.from(await reply.arrayBuffer()).equals(other)]).toEqual([200, true]);
  });

  test('answers for a file of another key with a problem, and one line', async () => {
    const served = await local();
    const reply = await fetch(`${served.url}folder/foreign`);
    expect([reply.status, await reply.json()]).toEqual([
      403,
      expect.objectContaining({ code: 'no-decryptable-packet' }),
    ]);
    expect(served.said().match(/\/folder\/foreign: /g)).toHaveLength(1);
  });
});

describe('a run', () => {
  const [page] = blocksOf('docs/researchers.md').filter(({ section }) => section === 'Read files without opening them');
  const lines = page?.text.trim().split('\n') ?? [];

  test.each(lines.map((line) => line.replace(/ *#.*$/, '')))('begins as the page says: %s', async (line) => {
    await mkdir(join(folder, 'data'));
    const [program, command, ...argv] = line.split(' ');
    expect([program, command]).toEqual(['data-out', 'serve']);
    expect((await fetch((await start(...argv)).url)).status).toBe(200);
  });

  test('ends by Ctrl-C with exit code 0, and prints its address alone on standard output', async () => {
    const served = await start();
    const { exitCode } = await served.end();
    expect([exitCode, served.url]).toEqual([0, expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/)]);
    await expect(fetch(served.url)).rejects.toThrow();
  });

  test('has another token at each start', async () => {
    const tokens = [await start(), await start()].map(({ url }) => new URL(url).pathname);
    expect(new Set(tokens).size).toBe(2);
  });

  test.each([
    [['--allow-origin', 'https://igv.org/'], '--allow-origin'],
    [['--allow-origin', '*'], '--allow-origin'],
    [['--port', '65536'], '--port'],
    [[], 'no address for direct access'],
  ])('is refused before it listens: %s', async (argv, why) => {
    const { exitCode, stderr } = await runCli(['serve', ...argv], { folder });
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(why)]);
  });

  test('says that a port is taken, and that a folder is missing', async () => {
    const { port } = new URL((await start()).url);
    await expect(start('--port', port)).rejects.toThrow(/--port: \d+ is in use/);
    await expect(start('no-folder', '--key', 'me.sec.pem')).rejects.toThrow('there is no folder no-folder');
  });
});
