import { describe, expect, test } from 'vitest';
import { collect, containerOf, inChunks, manifest, privateKeyOf, sha256 } from '../../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../../helpers/made-files.ts';
import { receive } from '../../helpers/receive.ts';

async function* stream(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield* inChunks(bytes, 10_000);
}

describe('receive', () => {
  const vector = manifest.vectors.find(({ id }) => id === 'pos-06-three-segments-and-17')!;

  test('measures a container of another implementation', async () => {
    const container = containerOf(vector);
    expect(await receive(stream(container), await privateKeyOf('alice'))).toEqual({
      containerSize: container.length,
      headerSize: 124,
      bodySha256: sha256(container.subarray(124)),
      plaintextSize: vector.expected.length,
      plaintextSha256: vector.expected.sha256,
    });
  });

  test('a container cut short is an error, not a short file', async () => {
    const container = containerOf(vector).subarray(0, -10);
    await expect(receive(stream(container), await privateKeyOf('alice'))).rejects.toThrow();
  });
});

describe('made files', () => {
  test.each([0, 1, 1 << 20, (1 << 20) + 1])(
    'of %i bytes have that size and are the same at every run',
    async (size) => {
      const [first, second] = await Promise.all([1, 2].map(() => collect(bytesOf({ path: 'a', size }))));
      expect(first!.length).toBe(size);
      expect(first!.equals(second!)).toBe(true);
    },
  );

  test('are not alike', async () => {
    const [a, b] = await Promise.all(['a', 'b'].map((path) => collect(bytesOf({ path, size: 64 }))));
    expect(a!.equals(b!)).toBe(false);
  });

  test('are the key stream of AES-256-CTR', async () => {
    // openssl enc -aes-256-ctr -K $(printf a | sha256sum | cut -c1-64) -iv 0…0 over 16 zero bytes
    expect((await collect(bytesOf({ path: 'a', size: 16 }))).toString('hex')).toBe('3ea02d42ae653a06bafc3a023e2e16bb');
  });
});
