import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { S3ArchiveWriter } from '../../../../../lib/ops/stores/archive-writer.ts';
import { s3Client } from '../../../../../lib/service/stores/clients.ts';
import { s3Archive } from '../../../../../lib/service/stores/s3/archive.ts';
import { collect } from '../../../../helpers/crypt4gh-vectors.ts';
import { testClient } from '../../../../helpers/http-handler.ts';
import { S3Server } from '../../../../helpers/s3-server.ts';

const mebibyte = 1024 * 1024;
let server: S3Server;
let client: S3Client;
beforeAll(async () => {
  server = await S3Server.start('archive', 'second');
  client = server.client();
});
afterAll(() => server[Symbol.asyncDispose]());
/** In the default bucket, unless a location names another. */
const at = (archiveFilePath: string, archiveLocation?: string) => ({ archiveFilePath, archiveLocation });
beforeEach(() => {
  server.faults.length = 0;
  server.requests.length = 0;
});

describe('s3Archive', () => {
  const body = Buffer.from('0123456789');
  const archive = () => s3Archive({ client, buckets: ['archive', 'second'] });
  beforeAll(async () => {
    await client.send(new PutObjectCommand({ Bucket: 'archive', Key: 'a dir/b+ö%', Body: body }));
  });

  it('begins a body in one call, with its size and ETag: all of it, or its first bytes', async () => {
    for (const [end, text] of [
      [undefined, '0123456789'],
      [4, '0123'],
      [100, '0123456789'],
    ] as const) {
      server.requests.length = 0;
      const { bytes, ...told } = await archive().begin(at('a dir/b+ö%'), end);
      expect(told).toEqual({ size: 10, etag: '"781e5e245d69b566979b86e28d23f2c7"' });
      expect(Buffer.from(await collect(bytes)).toString()).toBe(text);
      expect(server.requests).toHaveLength(1);
    }
    await expect(archive().begin(at('missing'))).rejects.toThrow(expect.objectContaining({ code: 'archive_damaged' }));
  });

  it.each([
    ['is missing', 'archive_damaged', 'missing', 0, 1, '"781e5e245d69b566979b86e28d23f2c7"'],
    ['was replaced', 'temporarily_unavailable', 'a dir/b+ö%', 0, 1, '"00000000000000000000000000000000"'],
    ['ends before the range', 'archive_damaged', 'a dir/b+ö%', 10, 11, '"781e5e245d69b566979b86e28d23f2c7"'],
    ['ends inside the range', 'archive_damaged', 'a dir/b+ö%', 5, 11, '"781e5e245d69b566979b86e28d23f2c7"'],
  ])('when the body %s, the error is %s', async (_name, code, key, start, end, etag) => {
    const read = archive().read(at(key), { start, end, etag });
    await expect(read).rejects.toThrow(expect.objectContaining({ code }));
  });

  it('finds a body in the bucket that its location names', async () => {
    await client.send(new PutObjectCommand({ Bucket: 'second', Key: 'a dir/b+ö%', Body: 'second' }));
    const elsewhere = at('a dir/b+ö%', 'https://s3.example.org/second');
    const { size, etag } = await archive().head(elsewhere);
    expect(size).toBe(6);
    expect(Buffer.from(await archive().read(elsewhere, { start: 0, end: 6, etag })).toString()).toBe('second');
    server.requests.length = 0;
    const unknown = at('a dir/b+ö%', 'https://s3.example.org/third');
    await expect(archive().head(unknown)).rejects.toThrow(
      expect.objectContaining({ code: 'archive_location_unknown' }),
    );
    await expect(archive().read(unknown, { start: 0, end: 6, etag })).rejects.toThrow('third');
    expect(server.requests).toEqual([]);
  });

  it.each([
    ['breaks', 2, '0123456789'],
    ['falls silent', 2, '0123456789'],
    ['breaks each time', 3, undefined],
    ['falls silent each time', 3, undefined],
  ])('asks again when a read %s: %i times, no more than three in all', async (name, failures, expected) => {
    let requests = 0;
    const unsteady = createServer((_request, response) => {
      requests += 1;
      response.writeHead(206, { 'Content-Length': '10' });
      if (requests > failures) return void response.end('0123456789');
      response.write('01234');
      if (name.startsWith('breaks')) setTimeout(() => response.destroy(), 20);
    });
    await new Promise<void>((resolve) => unsteady.listen(0, '127.0.0.1', resolve));
    const { port } = unsteady.address() as AddressInfo;
    const endpoint = `http://127.0.0.1:${port}`;
    const lone = s3Archive({
      client: s3Client({ ...testClient, endpoint }),
      buckets: ['archive'],
      readTimeoutMs: 200,
    });
    const read = lone.read(at('x'), { start: 0, end: 10, etag: '"x"' }).then((bytes) => Buffer.from(bytes).toString());
    if (expected) expect(await read).toBe(expected);
    else await expect(read).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
    expect(requests).toBe(3);
    unsteady.close();
    unsteady.closeAllConnections();
  });

  it('reads a whole body behind a header, by one request', async () => {
    const whole = await archive().readWhole(at('a dir/b+ö%'), 10, Buffer.from('header '));
    expect(Buffer.from(whole.container).toString()).toBe('header 0123456789');
    expect(server.requests.map(({ action }) => action)).toEqual(['GetObject']);
    await client.send(new PutObjectCommand({ Bucket: 'archive', Key: 'empty', Body: '' }));
    const { container } = await archive().readWhole(at('empty'), 0, Buffer.from('header'));
    expect(Buffer.from(container).toString()).toBe('header');
  });

  it.each([
    ['is missing', 'no such body', 10],
    ['is longer', 'a dir/b+ö%', 9],
    ['is shorter', 'a dir/b+ö%', 11],
  ])('calls the archive damaged when a whole body %s', async (_name, key, size) => {
    await expect(archive().readWhole(at(key), size, Buffer.alloc(124))).rejects.toThrow(
      expect.objectContaining({ code: 'archive_damaged' }),
    );
  });

  it('passes on a refusal that no waiting cures', async () => {
    server.faults.push({ action: 'GetObject', error: { status: 403, code: 'AccessDenied' } });
    const denied = archive().read(at('a dir/b+ö%'), { start: 0, end: 1, etag: '"x"' });
    await expect(denied).rejects.toMatchObject({ name: 'AccessDenied' });
  });
});

describe('S3ArchiveWriter', () => {
  const writer = () => new S3ArchiveWriter({ client, bucket: 'archive', location: '' });

  /** Bytes whose value tells their place, in pieces of odd sizes. */
  async function* source(size: number, piece: number): AsyncGenerator<Uint8Array> {
    const all = expected(size);
    for (let start = 0; start < size; start += piece) yield all.subarray(start, start + piece);
  }
  const stored = async (key: string) => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: 'archive', Key: key }));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  };
  const pattern = Uint8Array.from({ length: 251 }, (_, index) => index);
  const expected = (size: number) => Buffer.alloc(size, pattern);

  it('leaves nothing behind when the source fails', async () => {
    async function* broken() {
      yield new Uint8Array(9 * mebibyte);
      throw new Error('no more tape');
    }
    await expect(writer().upload('broken', broken())).rejects.toThrow('no more tape');
    expect(server.requests.at(-1)?.action).toBe('AbortMultipartUpload');
    const head = client.send(new HeadObjectCommand({ Bucket: 'archive', Key: 'broken' }));
    await expect(head).rejects.toMatchObject({ name: 'NotFound' });
  });

  it.each([
    ['CreateMultipartUpload', 'CreateMultipartUpload'],
    ['UploadPart', 'AbortMultipartUpload'],
  ])('leaves nothing behind when %s is refused, and closes the source', async (action, last) => {
    let closed = false;
    async function* endless() {
      try {
        for (;;) yield new Uint8Array(8 * mebibyte);
      } finally {
        closed = true;
      }
    }
    server.faults.push({ action, error: { status: 403, code: 'AccessDenied' } });
    await expect(writer().upload('refused', endless())).rejects.toMatchObject({ name: 'AccessDenied' });
    expect(server.requests.at(-1)?.action).toBe(last);
    expect(closed).toBe(true);
  });

  it('makes parts large enough for the expected size', async () => {
    // 10,000 parts of 9 MiB; a source that is shorter than one part is put in one piece.
    const size = 8 * mebibyte + 5;
    await writer().upload('expected', source(size, mebibyte), 90_000 * mebibyte);
    expect(server.requests.map(({ action }) => action)).toEqual(['PutObject']);
    expect((await stored('expected')).equals(expected(size))).toBe(true);
  });
});

it('S3 that stays down is temporarily unavailable', async () => {
  for (let i = 0; i < 5; i += 1) server.faults.push({ action: 'HeadObject', error: { status: 503, code: 'SlowDown' } });
  const down = s3Archive({ client, buckets: ['archive', 'second'] }).head(at('a dir/b+ö%'));
  await expect(down).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
});
