import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { Claims } from '../../../../../lib/client/api/delivery/claims.ts';
import type { RangeRequest, RemoteFile } from '../../../../../lib/client/api/download/remote/remote-file.ts';
import { streamFile } from '../../../../../lib/client/api/download/stream-file.ts';
import { Transport } from '../../../../../lib/client/api/transport.ts';
import { decrypt, generateKeyPair } from '../../../../../lib/crypt4gh/index.ts';
import { containerOf } from '../../../../helpers/client-world.ts';
import { all } from '../../../../helpers/download-world.ts';
import { deliveredFile, receiptOf } from '../../../../helpers/receipts.ts';

const { privateKey, publicKey } = generateKeyPair();
const [headerBytes, segmentBytes] = [124, 65_564];
const container = await containerOf(randomBytes(3 * 65_536), publicKey);
const listed = await deliveredFile('a.c4gh', container);

/** A file whose chunks also end at these places. */
function remoteOf(ends: readonly number[]): RemoteFile {
  const size = container.length;
  return {
    name: 'a.c4gh',
    size,
    async get({ range: { start, end } = { start: 0, end: size } }: RangeRequest) {
      const places = [start, ...ends.filter((place) => place > start && place < end), end];
      async function* bytes() {
        for (const [index, place] of places.slice(1).entries()) yield container.subarray(places[index], place);
      }
      return {
        version: { size, etag: '"v"', lastModified: undefined },
        bytes: bytes(),
        discard: async () => undefined,
      };
    },
  };
}

async function* streamed(ends: readonly number[], crc64nvme = listed.crc64nvme) {
  const transport = new Transport({ userAgent: 'test' });
  const expected = new Claims([receiptOf([{ ...listed, ...(crc64nvme && { crc64nvme }) }])]).expected('a.c4gh');
  const compared = (verified: string | undefined) => expect(verified).toBe('bytes');
  try {
    yield* streamFile({ remote: remoteOf(ends), expected, compared, connections: 2, transport, signal: undefined });
  } finally {
    await transport.close();
  }
}

const borders = [0, 1, 2, 3].map((segments) => headerBytes + segments * segmentBytes);

test.each([
  ['at borders', borders],
  ['one byte behind them', borders.map((place) => place + 1)],
  ['two bytes behind them', borders.map((place) => place + 2)],
  ['byte by byte around one', Array.from({ length: 8 }, (_, index) => headerBytes + segmentBytes - 4 + index)],
  ['byte by byte in the header', Array.from({ length: 130 }, (_, index) => index)],
])('the output never stops where a container could end, whose chunks end %s', async (_where, ends) => {
  const given: Uint8Array[] = [];
  for await (const bytes of streamed(ends)) {
    given.push(Buffer.from(bytes));
    const size = given.reduce((sum, { length }) => sum + length, 0);
    if (size < container.length) expect(borders).not.toContain(size);
  }
  expect(Buffer.concat(given).equals(container)).toBe(true);
});

test('a file that differs from its receipt never comes whole', async () => {
  const given: Uint8Array[] = [];
  const reading = async () => {
    for await (const bytes of streamed(borders, 'rosUhgp5mIg=')) given.push(Buffer.from(bytes));
  };
  await expect(reading()).rejects.toMatchObject({ code: 'not_verified' });
  expect(Buffer.concat(given)).toHaveLength(container.length - 1);
  await expect(all(decrypt(given, { privateKeys: [privateKey] }))).rejects.toThrow('cut off');
});
