import { createSecretKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type DamagedBodyError, decrypt, decryptSegments, encryptSegments } from '../../../../lib/crypt4gh/index.ts';
import { seal } from '../../../../lib/crypt4gh/sealed.ts';
import {
  collect,
  containerOf,
  generatedPlaintext,
  inChunks,
  manifest,
  outcomeOf,
  privateKeyOf,
} from '../../../helpers/crypt4gh-vectors.ts';

const dataKey = new Uint8Array(32).fill(1);
const otherKey = new Uint8Array(32).fill(2);
const plaintext = generatedPlaintext('segments', 3 * 65_536 + 100);
const body = await collect(encryptSegments([plaintext], { dataKey }));

function damagedAt(position: number): Buffer {
  const copy = Buffer.from(body);
  copy[position]! ^= 1;
  return copy;
}

function decryptAll(bytes: Uint8Array, editList?: bigint[]) {
  return outcomeOf(decryptSegments(inChunks(bytes, 50_000), { dataKeys: [dataKey], editList }));
}

describe('a damaged body', () => {
  test.each([
    [0, 0, 65_564],
    [1, 65_564, 131_128],
    [3, 196_692, 196_820],
  ])('names segment %d and its bytes', async (segment, start, end) => {
    const { bytes, error } = await decryptAll(damagedAt(start + 20));
    expect(error).toMatchObject({ code: 'segment-authentication-failed', segment, start, end });
    expect((error as DamagedBodyError).message).toContain(`segment ${segment} (bytes ${start} to ${end} of the body)`);
    expect(bytes).toEqual(plaintext.subarray(0, segment * 65_536));
  });

  test('names the segment that is cut short', async () => {
    const { error } = await decryptAll(body.subarray(0, 65_564 + 27));
    expect(error).toMatchObject({ code: 'truncated-segment', segment: 1, start: 65_564, end: 65_591 });
  });

  test('with more bytes after a short segment is damaged, wherever they come from', async () => {
    const { bytes, error } = await decryptAll(Buffer.concat([body, body]));
    expect(error).toMatchObject({ code: 'segment-authentication-failed', segment: 3 });
    expect(bytes.length).toBe(3 * 65_536);
  });
});

describe('a size known from elsewhere', () => {
  const read = (bytes: Uint8Array, expectedSize: number, editList?: bigint[]) =>
    outcomeOf(decryptSegments(inChunks(bytes, 50_000), { dataKeys: [dataKey], editList, expectedSize }));

  test('fits the whole body', async () => {
    expect(await read(body, plaintext.length)).toEqual({ bytes: plaintext, error: undefined });
  });

  test.each([0, 2])('shows a body cut after %d segments, which alone looks whole', async (segments) => {
    const cut = body.subarray(0, segments * 65_564);
    expect((await decryptAll(cut)).error).toBeUndefined();
    const { bytes, error } = await read(cut, plaintext.length);
    expect(bytes).toEqual(plaintext.subarray(0, segments * 65_536));
    expect(error).toMatchObject({
      code: 'truncated-body',
      segment: segments,
      start: segments * 65_564,
      end: body.length,
    });
  });

  test.each([plaintext.length - 1, 0])('of %d bytes is exceeded by the body', async (size) => {
    const { bytes, error } = await read(body, size);
    expect(error).toMatchObject({ code: 'oversized-body' });
    expect(bytes.length).toBeLessThanOrEqual(size);
  });

  test('allows the empty segment that some writers put at the end', async () => {
    const full = body.subarray(0, 65_564);
    const empty = seal(new Uint8Array(), createSecretKey(dataKey), new Uint8Array(12));
    expect((await read(empty, 0)).error).toBeUndefined();
    expect((await read(Buffer.concat([full, empty]), 65_536)).error).toBeUndefined();
    expect((await read(Buffer.concat([full, empty]), 65_535)).error).toMatchObject({ code: 'oversized-body' });
  });

  test('is held against the body as far as the edit list lets it be read', async () => {
    const cut = body.subarray(0, 65_564);
    expect((await read(cut, plaintext.length, [0n, 5n])).error).toBeUndefined();
    expect((await read(cut, plaintext.length, [0n, 5n, 100_000n, 5n])).error).toMatchObject({ code: 'truncated-body' });
  });

  test.each([-1, 0.5])('is not %d', async (size) => {
    expect((await read(body, size)).error).toBeInstanceOf(RangeError);
  });

  test('shows the changed vectors that the format alone cannot', async () => {
    const vector = manifest.vectors.find(({ id }) => id === 'und-01-truncated-at-boundary')!;
    const privateKeys = [await privateKeyOf(vector.readers[0]!)];
    const cut = () => decrypt([containerOf(vector)], { privateKeys, expectedSize: 65_537 });
    await expect(collect(cut())).rejects.toMatchObject({ code: 'truncated-body', segment: 1 });
  });
});

describe('edit lists', () => {
  test('segments skipped whole are not decrypted', async () => {
    const { bytes, error } = await decryptAll(damagedAt(65_564 + 20), [0n, 10n, 131_062n]);
    expect(error).toBeUndefined();
    expect(bytes).toEqual(Buffer.concat([plaintext.subarray(0, 10), plaintext.subarray(131_072)]));
  });

  test('after the last keep the source is closed unread', async () => {
    let pulled = 0;
    let closed = false;
    async function* source() {
      try {
        for (const chunk of inChunks(body, 10_000)) {
          pulled += chunk.length;
          yield chunk;
        }
      } finally {
        closed = true;
      }
    }
    const bytes = await collect(decryptSegments(source(), { dataKeys: [dataKey], editList: [5n, 20n] }));
    expect(bytes).toEqual(plaintext.subarray(5, 25));
    expect({ pulled, closed }).toEqual({ pulled: 70_000, closed: true });
  });
});

test('a segment is given out as soon as it is whole, before more is asked for', async () => {
  let pulled = 0;
  function* source() {
    for (const chunk of inChunks(body, 65_564)) {
      pulled += 1;
      yield chunk;
    }
  }
  const output = decryptSegments(source(), { dataKeys: [dataKey] });
  expect((await output.next()).value?.length).toBe(65_536);
  expect(pulled).toBe(1);
  await output.return();
});

test('of several data keys, each segment is read by the one that fits, wherever it stands', async () => {
  const second = await collect(encryptSegments([plaintext], { dataKey: otherKey }));
  const mixed = Buffer.concat([body.subarray(0, 65_564), second.subarray(65_564, 131_128), body.subarray(131_128)]);
  for (const dataKeys of [
    [dataKey, otherKey],
    [otherKey, dataKey],
  ]) {
    expect(await collect(decryptSegments([mixed], { dataKeys }))).toEqual(plaintext);
  }
});
