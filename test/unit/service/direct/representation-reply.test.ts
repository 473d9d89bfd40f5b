import { beforeEach, describe, expect, test } from 'vitest';
import { rangeNotSatisfiable, unavailable } from '../../../../lib/errors.ts';
import {
  type ReplyOutcome,
  type Representation,
  representationReply,
} from '../../../../lib/service/direct/representation.ts';
import type { ReplyBody } from '../../../../lib/service/http/reply.ts';
import { inChunks, outcomeOf } from '../../../helpers/crypt4gh-vectors.ts';
import { httpRequest } from '../../../helpers/http-request.ts';

const bytes = Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz');
const etag = '"of-these-bytes"';
let deliveries: ReplyOutcome[];
let asked: [number, number][];
beforeEach(() => {
  deliveries = [];
  asked = [];
});

/** Gives its bytes in pieces of seven, or the pieces of `stream`. */
function representation(parts: Partial<Representation> = {}): Representation {
  return {
    size: bytes.length,
    etag,
    mediaType: 'application/octet-stream',
    fileName: 'letters.txt',
    async *stream(start, end) {
      asked.push([start, end]);
      yield* inChunks(bytes.subarray(start, end), 7);
    },
    ...parts,
  };
}

function get(headers: Record<string, string> = {}, method = 'GET', parts: Partial<Representation> = {}) {
  return representationReply(httpRequest({ method, headers }), representation(parts), (delivery) =>
    deliveries.push(delivery),
  );
}

async function sent(body: ReplyBody) {
  if (typeof body === 'string') throw new Error('a body of text');
  const { bytes: received, error } = await outcomeOf(body as AsyncIterable<Uint8Array>);
  return { text: received.toString(), error };
}

const headers = {
  'X-Request-Id': 'gateway-request',
  'Cache-Control': 'no-store',
  'Content-Type': 'application/octet-stream',
  'Content-Disposition': 'attachment; filename="letters.txt"',
  'Accept-Ranges': 'bytes',
  ETag: etag,
};

test('the whole, with its length', async () => {
  const reply = await get();
  expect(reply).toMatchObject({ status: 200, headers: { ...headers, 'Content-Length': '36' } });
  expect(reply.headers).not.toHaveProperty('Content-Range');
  expect(deliveries).toEqual([]);
  expect(await sent(reply.body)).toEqual({ text: bytes.toString(), error: undefined });
  expect(deliveries).toEqual([{ status: 200, bytes: 36, promised: 36 }]);
});

test('a range: only its bytes are read from the representation', async () => {
  const reply = await get({ Range: 'bytes=10-19' });
  expect(reply).toMatchObject({
    status: 206,
    headers: { ...headers, 'Content-Length': '10', 'Content-Range': 'bytes 10-19/36' },
  });
  expect(await sent(reply.body)).toEqual({ text: 'abcdefghij', error: undefined });
  expect(asked).toEqual([[10, 20]]);
  expect(deliveries).toEqual([{ status: 206, bytes: 10, promised: 10 }]);
});

test.each(['bytes=36-', 'bytes=-0'])('%s begins after the end: 416 with the size', async (Range) => {
  await expect(get({ Range })).rejects.toEqual(rangeNotSatisfiable(36));
  expect(asked).toEqual([]);
});

test('If-None-Match of these bytes: 304, nothing is read', async () => {
  expect(await get({ 'If-None-Match': etag })).toMatchObject({ status: 304, body: '', headers: { ETag: etag } });
  expect(asked).toEqual([]);
  expect(deliveries).toEqual([{ status: 304, bytes: 0, promised: 0 }]);
});

describe('HEAD', () => {
  test('says what GET would, and reads nothing', async () => {
    const reply = await get({}, 'HEAD');
    expect(reply).toMatchObject({ status: 200, headers: { ...headers, 'Content-Length': '36' }, body: '' });
    expect(asked).toEqual([]);
    expect(deliveries).toEqual([{ status: 200, bytes: 0, promised: 0 }]);
  });

  test('has no ranges (RFC 9110 § 14.2), and gives the size of a file too large for one reply', async () => {
    const reply = await get({ Range: 'bytes=1-2' }, 'HEAD', { size: 5_000_000_000_000 });
    expect(reply).toMatchObject({ status: 200, headers: { 'Content-Length': '5000000000000' } });
  });
});

describe('a file that is too large for one reply', () => {
  const size = 200_000_001;
  test('is refused, with the sizes that are possible', async () => {
    await expect(get({}, 'GET', { size })).rejects.toMatchObject({
      code: 'reply_too_large',
      maxRangeBytes: 200_000_000,
    });
    await expect(get({ Range: 'bytes=0-' }, 'GET', { size })).rejects.toMatchObject({ code: 'reply_too_large' });
    expect(asked).toEqual([]);
  });

  test('is served in ranges', async () => {
    expect(await get({ Range: 'bytes=0-199999999' }, 'GET', { size })).toMatchObject({ status: 206 });
    expect(await get({ Range: 'bytes=1-' }, 'GET', { size })).toMatchObject({
      headers: { 'Content-Range': 'bytes 1-200000000/200000001', 'Content-Length': '200000000' },
    });
  });
});

describe('a failure', () => {
  const broken = unavailable('S3 is down');

  test('before the first byte is a status', async () => {
    // biome-ignore lint/correctness/useYield: it fails before it could
    const stream = async function* () {
      throw broken;
    };
    await expect(get({}, 'GET', { stream })).rejects.toBe(broken);
    expect(deliveries).toEqual([]);
  });

  const other = Buffer.from('!');
  test.each<[string, (Buffer | Error)[], number, unknown]>([
    ['a failure after the first byte breaks the body off', [bytes.subarray(0, 7), broken], 7, broken],
    [
      'a source that ends early breaks it off',
      [bytes.subarray(0, 35)],
      35,
      expect.objectContaining({ code: 'archive_damaged' }),
    ],
    [
      'a source that is too long is cut at the promised length',
      [bytes, other],
      36,
      expect.objectContaining({ code: 'archive_damaged' }),
    ],
  ])('%s', async (_, pieces, length, error) => {
    const reply = await get({}, 'GET', {
      async *stream() {
        for (const piece of pieces) {
          if (piece instanceof Error) throw piece;
          yield piece;
        }
      },
    });
    expect(await sent(reply.body)).toEqual({ text: bytes.toString('latin1', 0, length), error });
    expect(deliveries).toEqual([{ status: 200, bytes: length, promised: 36 }]);
  });

  test('a client that goes away ends the reading', async () => {
    let ended = false;
    const reply = await get({}, 'GET', {
      async *stream() {
        try {
          for (const byte of bytes) yield Buffer.of(byte);
        } finally {
          ended = true;
        }
      },
    });
    for await (const _ of reply.body as AsyncIterable<Uint8Array>) break;
    expect(ended).toBe(true);
    expect(deliveries).toEqual([{ status: 200, bytes: 0, promised: 36 }]);
  });
});
