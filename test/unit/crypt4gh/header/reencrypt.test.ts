import { describe, expect, test } from 'vitest';
import {
  addRecipients,
  decrypt,
  encryptHeader,
  generateKeyPair,
  headerLength,
  NoMatchingKeyError,
  openHeader,
  reencryptHeader,
} from '../../../../lib/crypt4gh/index.ts';
import { collect, containerOf, manifest, privateKeyOf, sha256, vectorFile } from '../../../helpers/crypt4gh-vectors.ts';

const archive = generateKeyPair();
const recipient = generateKeyPair();
const other = generateKeyPair();
const [keyA, keyB] = [1, 2].map((value) => new Uint8Array(32).fill(value)) as [Uint8Array, Uint8Array];
const header = encryptHeader({ dataKeys: [keyA, keyB], editList: [7n, 8n, 9n], recipients: [archive.publicKey] });

function rebuild(changes: Partial<Parameters<typeof reencryptHeader>[0]> = {}): Buffer {
  return Buffer.from(
    reencryptHeader({
      header,
      readerKeys: [archive.privateKey],
      recipients: [recipient.publicKey],
      derivation: { secret: archive.privateKey, context: 'EGAF00000000001' },
      ...changes,
    }),
  );
}

/** Sender keys and nonces unencrypted in a header: by its framing (Crypt4GH § 3.2.2), without this library. */
function sendersAndNonces(bytes: Buffer): string[] {
  const found: string[] = [];
  for (let offset = 16; offset < bytes.length; offset += bytes.readUInt32LE(offset)) {
    found.push(bytes.toString('hex', offset + 8, offset + 52));
  }
  return found;
}

function senderOf(bytes: Buffer): string {
  return sendersAndNonces(bytes)[0]!.slice(0, 64);
}

describe('a rebuilt header', () => {
  test('gives the recipient every data key and the edit list, in their order', () => {
    const opened = openHeader(rebuild(), [recipient.privateKey]);
    expect(opened.payloads).toEqual([
      { type: 'data-key', key: keyA },
      { type: 'data-key', key: keyB },
      { type: 'edit-list', lengths: [7n, 8n, 9n] },
    ]);
  });

  test('keeps an edit list that comes before the keys there', async () => {
    const rebuilt = rebuild({
      header: vectorFile('edit/pos-35-el-first.header.bin'),
      readerKeys: [await privateKeyOf('alice')],
    });
    expect(openHeader(rebuilt, [recipient.privateKey]).payloads.map(({ type }) => type)).toEqual([
      'edit-list',
      'data-key',
    ]);
  });

  test('does not open for those who could open it before', () => {
    expect(() => openHeader(rebuild(), [archive.privateKey])).toThrow(NoMatchingKeyError);
  });

  test('drops packets of others, and padding', async () => {
    const container = vectorFile('containers/pos-40-padded-packets.c4gh');
    const rebuilt = rebuild({ header: container, readerKeys: [await privateKeyOf('alice')] });
    expect(rebuilt.length).toBe(16 + 108 + 76 + 2 * 8);
    const shared = encryptHeader({ dataKeys: [keyA], recipients: [other.publicKey, archive.publicKey] });
    expect(rebuild({ header: shared }).length).toBe(16 + 108);
  });

  test('reads the vectors: the body decrypts to the stated plaintext for a new reader', async () => {
    const ids = ['pos-07-header-apart', 'pos-24-el-several', 'pos-38-two-data-keys', 'pos-41-foreign-packets-around'];
    for (const vector of manifest.vectors.filter(({ id }) => ids.includes(id))) {
      const container = containerOf(vector);
      const rebuilt = rebuild({ header: container, readerKeys: [await privateKeyOf(vector.readers[0]!)] });
      const plaintext = await collect(
        decrypt([rebuilt, container.subarray(headerLength(container))], { privateKeys: [recipient.privateKey] }),
      );
      expect(sha256(plaintext)).toBe(vector.expected.sha256);
    }
  });
});

describe('the header rebuilt from a derived sender key', () => {
  test('never has the archive key, nor the recipient key, as its sender', () => {
    const used = new Set(sendersAndNonces(rebuild()).map((entry) => entry.slice(0, 64)));
    expect(used.size).toBe(1);
    for (const { publicKey } of [archive, recipient])
      expect(used).not.toContain(Buffer.from(publicKey).toString('hex'));
  });

  test('never repeats a nonce under a sender key', () => {
    const entries = sendersAndNonces(rebuild({ recipients: [recipient.publicKey, other.publicKey] }));
    expect(new Set(entries).size).toBe(6);
  });

  test.each<[string, Parameters<typeof rebuild>[0]]>([
    ['another file', { derivation: { secret: archive.privateKey, context: 'EGAF00000000002' } }],
    ['another recipient', { recipients: [other.publicKey] }],
    ['another archive key', { derivation: { secret: other.privateKey, context: 'EGAF00000000001' } }],
    ['other packets', { header: encryptHeader({ dataKeys: [keyA], recipients: [archive.publicKey] }) }],
    [
      'the same packets in another order',
      { header: encryptHeader({ dataKeys: [keyB, keyA], editList: [7n, 8n, 9n], recipients: [archive.publicKey] }) },
    ],
    [
      'another edit list',
      { header: encryptHeader({ dataKeys: [keyA, keyB], editList: [7n, 8n, 10n], recipients: [archive.publicKey] }) },
    ],
  ])('has other nonces for %s', (_, changes) => {
    const [before, after] = [rebuild(), rebuild(changes)];
    const nonces = (bytes: Buffer) => sendersAndNonces(bytes).map((entry) => entry.slice(64));
    expect(nonces(after)).not.toEqual(expect.arrayContaining([nonces(before)[0]]));
  });

  test('does not depend on who wrote the header before, nor on packets of others', () => {
    const again = encryptHeader({
      dataKeys: [keyA, keyB],
      editList: [7n, 8n, 9n],
      recipients: [other.publicKey, archive.publicKey],
    });
    expect(rebuild({ header: again })).toEqual(rebuild());
  });

  test('is new each time when it is made from randomness instead', () => {
    const random = (size: number) => crypto.getRandomValues(new Uint8Array(size));
    const [one, two] = [rebuild({ derivation: { random } }), rebuild({ derivation: { random } })];
    expect(senderOf(one)).not.toBe(senderOf(two));
    expect(openHeader(two, [recipient.privateKey]).dataKeys).toEqual([keyA, keyB]);
  });
});

test('a header that no key opens is refused', () => {
  expect(() => rebuild({ readerKeys: [other.privateKey] })).toThrow(NoMatchingKeyError);
});

describe('packets that do not open', () => {
  const shared = encryptHeader({ dataKeys: [keyA], recipients: [other.publicKey, archive.publicKey] });

  const random = (size: number) => crypto.getRandomValues(new Uint8Array(size));
  test.each([
    ['a derived', {}],
    ['a random', { derivation: { random } }],
  ])('are kept, as they were, when asked for, with %s sender', (_, changes) => {
    const rebuilt = rebuild({ header: shared, foreignPackets: 'keep', ...changes });
    expect(rebuilt.length).toBe(16 + 2 * 108);
    expect(rebuilt.includes(Buffer.from(shared).subarray(16, 124))).toBe(true);
    for (const { privateKey } of [recipient, other]) expect(openHeader(rebuilt, [privateKey]).dataKeys).toEqual([keyA]);
    expect(() => openHeader(rebuilt, [archive.privateKey])).toThrow(NoMatchingKeyError);
  });
});

describe('the edit list of a rebuilt header', () => {
  test.each<[string, bigint[] | null, bigint[] | undefined]>([
    ['replaced', [1n, 2n], [1n, 2n]],
    ['taken away', null, undefined],
  ])('can be %s', (_, editList, expected) => {
    const opened = openHeader(rebuild({ editList }), [recipient.privateKey]);
    expect(opened.editList).toEqual(expected);
    expect(opened.dataKeys).toEqual([keyA, keyB]);
  });

  test('makes other nonces, so that none seals two things under one key', () => {
    const nonces = (editList: readonly bigint[]) => sendersAndNonces(rebuild({ editList }));
    expect(new Set([...nonces([1n, 2n]), ...nonces([1n, 3n])]).size).toBe(6);
  });
});

describe('adding recipients', () => {
  const added = Buffer.from(
    addRecipients({ header, readerKeys: [archive.privateKey], recipients: [recipient.publicKey, archive.publicKey] }),
  );

  test('leaves every packet that exists as it is', () => {
    expect(added.subarray(16, header.length)).toEqual(Buffer.from(header).subarray(16));
    expect(openHeader(added, [archive.privateKey]).editList).toEqual([7n, 8n, 9n]);
  });

  test('gives the new ones what the reader has, and the reader no second copy', () => {
    expect(openHeader(added, [recipient.privateKey]).payloads).toEqual(
      openHeader(header, [archive.privateKey]).payloads,
    );
    expect(added.length).toBe(16 + 2 * (header.length - 16));
  });

  test('keeps the access of readers that the adding one cannot see', () => {
    const shared = encryptHeader({ dataKeys: [keyA], recipients: [other.publicKey, archive.publicKey] });
    const more = addRecipients({ header: shared, readerKeys: [archive.privateKey], recipients: [recipient.publicKey] });
    for (const { privateKey } of [archive, other, recipient]) {
      expect(openHeader(more, [privateKey]).dataKeys).toEqual([keyA]);
    }
  });
});
