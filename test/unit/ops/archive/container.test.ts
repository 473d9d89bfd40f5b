import { describe, expect, test } from 'vitest';
import { publicKeyOf } from '../../../../lib/crypt4gh/index.ts';
import { lookAt, type SplitContainer, splitForArchive } from '../../../../lib/ops/archive/container.ts';
import type { ArchiveKey } from '../../../../lib/service/archive/ports.ts';
import {
  collect,
  containerOf,
  inChunks,
  keyVector,
  manifest,
  privateKeyOf,
  sha256,
} from '../../../helpers/crypt4gh-vectors.ts';

async function archiveKey(id: string): Promise<ArchiveKey> {
  const privateKey = await privateKeyOf(id);
  return { privateKey, publicKey: publicKeyOf(privateKey) };
}

async function* stream(bytes: Uint8Array, chunk = 1000): AsyncGenerator<Uint8Array> {
  yield* inChunks(bytes, chunk);
}

const measured = ({ plain, uploaded }: SplitContainer) => ({
  decryptedSize: plain.size,
  uploadedSize: uploaded.size,
  unencrypted: plain.digest,
  uploaded: uploaded.digest,
});

const decryptable = manifest.vectors.filter(
  ({ group, expected, readers }) =>
    group === 'positive' && expected.outcome === 'plaintext' && readers.length > 0 && keyVector(readers[0]!).private,
);

describe('a container for the archive', () => {
  test.each(decryptable)('$id is taken apart unchanged, its plaintext measured on the way', async (vector) => {
    const container = containerOf(vector);
    const key = await archiveKey(vector.readers[0]!);
    const split = await splitForArchive(stream(container, 4096), [key]);
    const body = await collect(split.body);
    expect(Buffer.concat([split.header, body]).equals(container)).toBe(true);
    expect(split.keyHash).toBe(Buffer.from(key.publicKey).toString('hex'));
    expect(measured(split)).toEqual({
      decryptedSize: vector.expected.length,
      uploadedSize: container.length,
      unencrypted: vector.expected.sha256,
      uploaded: sha256(container),
    });
  });

  test('the key that opens it is found among several, and named', async () => {
    const vector = manifest.vectors.find(({ id }) => id === 'pos-02-one-byte')!;
    const [alice, bob] = [await archiveKey('alice'), await archiveKey('bob')];
    const split = await splitForArchive(stream(containerOf(vector)), [bob, alice]);
    expect(split.keyHash).toBe(keyVector('alice').public_key_hex);
  });

  test('one for another reader is refused, with the reason', async () => {
    const vector = manifest.vectors.find(({ id }) => id === 'pos-02-one-byte')!;
    const keys = [await archiveKey('bob'), await archiveKey('carol')];
    await expect(splitForArchive(stream(containerOf(vector)), keys)).rejects.toMatchObject({
      code: 'unusable_input',
      message: expect.stringContaining('any of the 2 archive keys'),
    });
  });

  test('a header beyond the limit is refused', async () => {
    const packet = Buffer.alloc(1_500_000);
    packet.writeUInt32LE(packet.length);
    const preamble = Buffer.concat([Buffer.from('crypt4gh'), Buffer.from([1, 0, 0, 0, 1, 0, 0, 0])]);
    const container = Buffer.concat([preamble, packet]);
    await expect(splitForArchive(stream(container, 65_536), [await archiveKey('alice')])).rejects.toMatchObject({
      code: 'too_large',
    });
  });

  test.each(['crypt4gh', 'crypt4gh\u0001\0\0\0\u0001\0\0\0'])(
    'one that ends within its header (%j) is refused',
    async (text) => {
      await expect(splitForArchive(stream(Buffer.from(text)), [await archiveKey('alice')])).rejects.toMatchObject({
        code: 'truncated-header',
      });
    },
  );
});

describe('the first bytes tell', () => {
  test.each([
    ['crypt4gh', true],
    ['crypt4gh and more', true],
    ['crypt4g', false],
    ['', false],
    ['CRYPT4GH', false],
  ])('%j', async (text, expected) => {
    const { isContainer, bytes } = await lookAt(stream(Buffer.from(text), 3));
    expect(isContainer).toBe(expected);
    // Looking takes nothing away.
    expect((await collect(bytes)).toString()).toBe(text);
  });
});
