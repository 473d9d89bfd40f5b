import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { decrypt, encrypt, generateKeyPair, splitContainer } from '../../../../lib/crypt4gh/index.ts';
import { collect, copied, generatedPlaintext, inChunks, inOneMemory } from '../../../helpers/crypt4gh-vectors.ts';

const { privateKey, publicKey } = generateKeyPair();
const stranger = generateKeyPair();
const plaintext = generatedPlaintext('container', 100_000);
const container = await collect(encrypt([plaintext], { recipients: [publicKey] }));

/** A source that remembers whether it was closed. */
function watched(bytes: Uint8Array) {
  const state = { closed: false };
  async function* chunks() {
    try {
      yield* inChunks(bytes, 64);
    } finally {
      state.closed = true;
    }
  }
  return { state, source: chunks() };
}

describe('whole containers', () => {
  test('Node streams and Web streams are sources', async () => {
    for (const source of [Readable.from(inChunks(container, 777)), new Blob([container]).stream()]) {
      expect(await collect(decrypt(source, { privateKeys: [privateKey] }))).toEqual(plaintext);
    }
  });

  test('an empty plaintext is a header without a body', async () => {
    const empty = await collect(encrypt([], { recipients: [publicKey] }));
    expect(empty.length).toBe(16 + 108);
    expect((await collect(decrypt([empty], { privateKeys: [privateKey] }))).length).toBe(0);
  });
});

test.each([64, 124, 1_000_000])(
  'a container is taken apart in chunks of %d bytes: header and body are the container',
  async (size) => {
    const chunks = [...inChunks(container, size)];
    for (const source of [chunks, inOneMemory(inChunks(container, size))]) {
      const { header, body } = await splitContainer(source);
      expect(header.length).toBe(124);
      expect(Buffer.concat([header, await collect(copied(body))])).toEqual(container);
    }
    // What was given stays untouched.
    expect(Buffer.concat(chunks)).toEqual(container);
  },
);

describe('the source is closed', () => {
  test.each([
    ['the header is damaged', Buffer.alloc(1_000), [privateKey], { code: 'bad-magic' }],
    ['no key fits', container, [stranger.privateKey], { code: 'no-decryptable-packet' }],
    ['no key is given', container, [], new RangeError('expected at least one private key')],
  ])('when %s', async (_, bytes, privateKeys, error) => {
    const { state, source } = watched(bytes);
    await expect(collect(decrypt(source, { privateKeys }))).rejects.toMatchObject(error);
    expect(state.closed).toBe(true);
  });

  test('when the header of a container to split is damaged', async () => {
    const { state, source } = watched(Buffer.alloc(1_000));
    await expect(splitContainer(source)).rejects.toThrow('not a Crypt4GH container');
    expect(state.closed).toBe(true);
  });

  test('when the body of a split container is given up before it is read', async () => {
    const { state, source } = watched(container);
    const { body } = await splitContainer(source);
    await body.return?.();
    expect(state.closed).toBe(true);
    expect(await body.next()).toEqual({ done: true, value: undefined });
  });
});
