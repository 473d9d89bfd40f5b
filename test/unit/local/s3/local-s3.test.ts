import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { setImmediate as soon } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AwsError } from '../../../../lib/local/endpoint/errors.ts';
import { LocalS3 } from '../../../../lib/local/s3/local-s3.ts';
import { parseS3Request } from '../../../../lib/local/s3/s3-request.ts';

let folder: string;
let s3: LocalS3;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'data-out-local-s3-'));
  s3 = new LocalS3(folder, () => new Date());
  s3.createBucket('b');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** One request, as the endpoint hands it on. */
async function send(method: string, url: string, headers: Record<string, string> = {}, body: string | Buffer = '') {
  const [path = '', query = ''] = url.split('?');
  const request = new IncomingMessage(new Socket());
  Object.assign(request.headers, { 'content-length': String(Buffer.byteLength(body)), ...headers });
  request.push(body);
  request.push(null);
  return await s3.handle(parseS3Request(method, path, query, request.headers), request);
}
async function ask(...call: Parameters<typeof send>) {
  const reply = await send(...call);
  return { ...reply, text: typeof reply.body === 'string' ? reply.body : await text(reply.body) };
}
/** Files with bytes of objects and parts. */
const dataFiles = () =>
  readdirSync(join(folder, 'data'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const refusal = async (asked: Promise<unknown>) => {
  const error = await asked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AwsError)) throw new Error(`expected a refusal, got ${String(error)}`);
  return [error.status, error.code];
};

describe('what is written', () => {
  test.each([
    [{ 'content-md5': createHash('md5').update('other').digest('base64') }, 'BadDigest'],
    [{ 'x-amz-checksum-crc32': 'AAAAAA==' }, 'BadDigest'],
    [{ 'x-amz-content-sha256': createHash('sha256').update('other').digest('hex') }, 'XAmzContentSHA256Mismatch'],
  ])('is refused when it is not what the request says (%j)', async (headers: Record<string, string>, code) => {
    expect(await refusal(ask('PUT', '/b/k', headers, 'body'))).toEqual([400, code]);
    expect(await refusal(ask('HEAD', '/b/k'))).toEqual([404, 'NoSuchKey']);
  });
});

describe('the bytes of an object', () => {
  const read = async (key: string) => {
    const { body } = await send('GET', key);
    if (!(body instanceof Readable)) throw new TypeError('expected bytes of files');
    return body;
  };

  test('reach a reader that began before it was overwritten or deleted, and are gone afterwards', async () => {
    const first = randomBytes(5 * 2 ** 20);
    for (const end of [() => ask('PUT', '/b/k', {}, 'second'), () => ask('DELETE', '/b/k')]) {
      await ask('PUT', '/b/k', {}, first);
      const readers = [await read('/b/k'), await read('/b/k')];
      await end();
      for (const reader of readers) expect((await buffer(reader)).equals(first)).toBe(true);
      await ask('DELETE', '/b/k');
      await soon();
      expect(dataFiles()).toEqual([]);
    }
  });
});

describe('what is not modelled is refused by name', () => {
  test.each([
    ['GET', '/b/k?versionId=1', {}, 'versionId'],
    ['PUT', '/b/k', { 'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD' }, 'STREAMING-AWS4-HMAC-SHA256'],
    ['PUT', '/b/k', { 'x-amz-tagging': 'a=b' }, 'x-amz-tagging'],
    ['GET', '/', {}, 'GET of a bucket'],
    ['POST', '/b/k?uploads', { 'x-amz-checksum-algorithm': 'SHA256' }, 'SHA256'],
    ['PUT', '/b/k', { 'if-none-match': '"x"' }, 'If-None-Match'],
    ['GET', '/b/k', { 'if-modified-since': 'Sun, 01 Mar 2026 12:00:00 GMT' }, 'conditions with dates'],
  ])('%s %s %j', async (method, url, headers: Record<string, string>, name) => {
    if (method === 'GET') await ask('PUT', '/b/k');
    await expect(ask(method, url, headers)).rejects.toThrow(name);
    expect(await refusal(ask(method, url, headers))).toEqual([501, 'NotImplemented']);
  });

  test('and a bucket that is missing, by the name of S3', async () => {
    expect(await refusal(ask('GET', '/none/k'))).toEqual([404, 'NoSuchBucket']);
  });
});
