import { createHash } from 'node:crypto';
import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../../../../lib/crypt4gh/index.ts';
import { runCli } from '../../../../helpers/cli-run.ts';
import { generatedPlaintext } from '../../../../helpers/crypt4gh-vectors.ts';

/** Three ranges of 5 MiB, the last of them short. */
const plaintext = generatedPlaintext('fetch', 12_000_000);
const sha256 = createHash('sha256').update(plaintext).digest('hex');

let server: Server;
let folder: string;
let visa: string;
let checksums: unknown;
/** From this byte on the service refuses. */
let refusedFrom: number;
const described: string[] = [];

beforeAll(async () => {
  server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-fetch-'));
  visa = join(folder, '..', `${folder.split('/').at(-1)}.jwt`);
  await writeFile(visa, 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl', { mode: 0o600 });
  checksums = [
    { type: 'md5', checksum: 'x' },
    { type: 'sha-256', checksum: sha256 },
  ];
  refusedFrom = Number.POSITIVE_INFINITY;
  described.length = 0;
  return async () => {
    await rm(folder, { recursive: true });
    await rm(visa);
  };
});

/** The data-out API with one file, as docs/api.md and docs/drs.md have it. */
function handle(request: IncomingMessage, response: ServerResponse): unknown {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname === '/v1/ga4gh/drs/v1/objects/EGAF1') {
    described.push(pathname);
    if (checksums === undefined) return response.writeHead(404).end();
    return response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: 'EGAF1', checksums }));
  }
  if (pathname !== '/v1/files/EGAF1') return response.writeHead(404).end();
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  const [start, end] = [Number(from ?? 0), Number(to ?? plaintext.length - 1) + 1];
  if (start >= refusedFrom) return response.writeHead(403).end();
  response.writeHead(from === undefined ? 200 : 206, {
    etag: '"1"',
    'content-disposition': 'attachment; filename="sample.bam"',
    'content-length': end - start,
    ...(from !== undefined && { 'content-range': `bytes ${start}-${end - 1}/${plaintext.length}` }),
  });
  return response.end(request.method === 'HEAD' ? undefined : plaintext.subarray(start, end));
}

const fetched = (...more: string[]) => {
  const { port } = server.address() as AddressInfo;
  const env = { DATA_OUT_DIRECT_URL: `http://127.0.0.1:${port}/v1/`, DATA_OUT_VISA_FILE: visa };
  return runCli(['fetch', 'EGAF1', ...more], { folder, env });
};
const wrong = [{ type: 'sha-256', checksum: 'ab'.repeat(32) }];

describe.each([['1'], ['8']])('the plaintext over %s connections', (connections) => {
  test('has the SHA-256 of the catalogue, and the result says so', async () => {
    const { exitCode, stdout } = await fetched('--connections', connections, '--json');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout.toString().split('\n')[0] ?? '')).toMatchObject({ outcome: 'downloaded', sha256 });
    expect((await readFile(join(folder, 'sample.bam'))).equals(plaintext)).toBe(true);
  });

  test('of another is damaged, and nothing is left of it', async () => {
    checksums = wrong;
    const { exitCode, stderr } = await fetched('--connections', connections);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 8, stderr: expect.stringContaining(sha256) });
    expect(stderr).toContain('ab'.repeat(32));
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('a run that continues', () => {
  beforeEach(async () => {
    refusedFrom = 6_000_000;
    expect((await fetched('--connections', '1')).exitCode).not.toBe(0);
    expect(await readdir(folder)).toEqual(['sample.bam.part', 'sample.bam.part.json']);
    refusedFrom = Number.POSITIVE_INFINITY;
  });

  test('verifies what the run before has fetched, too', async () => {
    expect((await fetched()).exitCode).toBe(0);
    expect((await readFile(join(folder, 'sample.bam'))).equals(plaintext)).toBe(true);
  });

  test('notices a byte that has changed on the disk meanwhile', async () => {
    {
      await using part = await open(join(folder, 'sample.bam.part'), 'r+');
      await part.write(Buffer.of((plaintext[4_000_000] ?? 0) ^ 1), 0, 1, 4_000_000);
    }
    expect(await fetched()).toMatchObject({ exitCode: 8, stderr: expect.stringContaining(sha256) });
    expect(await readdir(folder)).toEqual([]);
    expect((await fetched()).exitCode).toBe(0);
  });
});

describe('standard output', () => {
  test('is verified as it goes', async () => {
    const { exitCode, stdout } = await fetched('-o', '-');
    expect(exitCode).toBe(0);
    expect(stdout.equals(plaintext)).toBe(true);
  });

  test('has everything before the end tells that it was wrong', async () => {
    checksums = wrong;
    expect(await fetched('-o', '-')).toMatchObject({ exitCode: 8, stderr: expect.stringContaining(sha256) });
  });
});

describe('says so if nothing can be compared', () => {
  test.each([
    ['no SHA-256', [{ type: 'etag', checksum: '1' }]],
    ['no text', [{ type: 'sha-256', checksum: 7 }]],
    ['no checksums', {}],
    ['no DRS', undefined],
  ])('%s', async (_, listed) => {
    checksums = listed;
    const { exitCode, stderr } = await fetched();
    expect(exitCode).toBe(0);
    expect(stderr).toContain('not compared with a checksum: the service lists no SHA-256 of this file');
  });

  test('a range: the checksum is that of the whole', async () => {
    checksums = wrong;
    const { exitCode, stderr, stdout } = await fetched('--range', '10-20', '-o', '-');
    expect(exitCode).toBe(0);
    expect(stdout.equals(plaintext.subarray(10, 20))).toBe(true);
    expect(stderr).toContain('not compared with a checksum: the listed checksum is of the whole file');
    expect(described).toEqual([]);
  });
});

test.each([[[]], [['--crypt4gh', '--public-key', 'me.pub']]])('a range after the end %j', async (more) => {
  await writeFile(join(folder, 'me.pub'), formatPublicKey(generateKeyPair().publicKey));
  const { exitCode, stderr } = await fetched('--range', '12000000-', ...more);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr:
      'data-out: --range: the range begins after the end: the file has 12000000 bytes\n' +
      'Give a range that begins before its end.\n',
  });
});
