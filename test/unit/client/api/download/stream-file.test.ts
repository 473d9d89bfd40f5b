import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { streamFile } from '../../../../../lib/client/api/download/stream-file.ts';
import { Claims } from '../../../../../lib/client/api/receipts/claims.ts';
import type { DeliveredFile } from '../../../../../lib/contract/delivery.ts';
import { decrypt, generateKeyPair } from '../../../../../lib/crypt4gh/index.ts';
import { containerOf } from '../../../../helpers/client-world.ts';
import { all } from '../../../../helpers/download-world.ts';
import { deliveredFile, receiptOf } from '../../../../helpers/receipts.ts';

const segmentBytes = 65_564;
const pieceBytes = 8 * 2 ** 20;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Reads of a file in memory. */
async function* streamed(container: Buffer, others: Partial<DeliveredFile>) {
  const listed = await deliveredFile('a.c4gh', container);
  const expected = new Claims([receiptOf([{ ...listed, ...others }])]).of('a.c4gh');
  const remote = {
    name: 'a.c4gh',
    givesRanges: true,
    size: container.length,
    read: async (start: number, end: number) => container.subarray(start, end),
  };
  const verified = (found: string | undefined) => expect(found).toBe('bytes');
  yield* streamFile(remote, { parallel: 2, expected, verified, retrying: () => undefined, signal: undefined });
}

/** A header of one packet, so long that the first piece ends so many bytes behind a segment. */
function fileWith(behind: number): { readonly file: Buffer; readonly header: number } {
  const header = (pieceBytes - behind) % segmentBytes;
  const file = Buffer.concat([Buffer.from('crypt4gh'), randomBytes(header - 8 + 130 * segmentBytes)]);
  file.writeUInt32LE(1, 8);
  file.writeUInt32LE(1, 12);
  file.writeUInt32LE(header - 16, 16);
  return { file, header };
}

test.each([0, 1, 2, 3])(
  'the output never stops where a container could end: %d bytes behind a segment',
  async (behind) => {
    const { file, header } = fileWith(behind);
    const given: Uint8Array[] = [];
    let size = 0;
    for await (const bytes of streamed(file, { header_sha256: sha256(file.subarray(0, header)) })) {
      given.push(Buffer.from(bytes));
      size += bytes.length;
      if (size < file.length) expect((size - header) % segmentBytes).not.toBe(0);
    }
    expect(given.length).toBe(3);
    expect(Buffer.concat(given).equals(file)).toBe(true);
  },
);

test('a file that differs from its receipt never comes whole', async () => {
  const { privateKey, publicKey } = generateKeyPair();
  const container = await containerOf(randomBytes(3 * 65_536), publicKey);
  const given: Uint8Array[] = [];
  const reading = async () => {
    for await (const bytes of streamed(container, { crc64nvme: 'rosUhgp5mIg=' })) given.push(Buffer.from(bytes));
  };
  await expect(reading()).rejects.toMatchObject({ code: 'not_verified' });
  expect(Buffer.concat(given)).toHaveLength(container.length - 1);
  await expect(all(decrypt(given, { privateKeys: [privateKey] }))).rejects.toThrow('cut off');
});
