import { afterAll, describe, expect, test } from 'vitest';
import {
  addRecipients,
  decrypt,
  encrypt,
  encryptHeader,
  encryptSegments,
  formatPrivateKey,
  formatPublicKey,
  generateKeyPair,
  headerLength,
  openHeader,
  parsePrivateKey,
  parsePublicKey,
  publicKeyOf,
  reencryptHeader,
} from '../../../lib/crypt4gh/index.ts';
import { collect, generatedPlaintext, inChunks, keyVector, vectorFile } from '../../helpers/crypt4gh-vectors.ts';
import { applyPlainly } from '../../helpers/edit-lists.ts';
import { Peer } from './peer.ts';

const python = process.env.CRYPT4GH_PYTHON;
if (python === undefined) throw new Error('CRYPT4GH_PYTHON names a Python that has the package crypt4gh');
const peer = new Peer(python);
afterAll(() => peer.close());

const [alice, bob, carol] = [generateKeyPair(), generateKeyPair(), generateKeyPair()] as const;
const publicKeys = [alice, bob, carol].map(({ publicKey }) => publicKey);
const plaintext = generatedPlaintext('interop', 250_000);
const sizes = [0, 1, 27, 28, 29, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073, 250_000];

const theirDecrypt = (container: Uint8Array, privateKey: Uint8Array, more = {}) =>
  peer.ask('decrypt', { data: container, privateKey, ...more });
const ourDecrypt = (container: Uint8Array, privateKey: Uint8Array) =>
  collect(decrypt(inChunks(container, 10_000), { privateKeys: [privateKey] }));
const ourEncrypt = (data: Uint8Array, recipients = publicKeys) => collect(encrypt([data], { recipients }));

describe.each(sizes)('a file of %i bytes', (size) => {
  const data = plaintext.subarray(0, size);

  test('ours is read by the reference, by each of three recipients', async () => {
    const container = await ourEncrypt(data);
    for (const { privateKey } of [alice, bob, carol]) {
      expect((await theirDecrypt(container, privateKey)).equals(data)).toBe(true);
    }
  });

  test('that of the reference is read by us, by each of three recipients', async () => {
    const container = await peer.ask('encrypt', { data, recipients: publicKeys });
    for (const { privateKey } of [alice, bob, carol]) {
      expect((await ourDecrypt(container, privateKey)).equals(data)).toBe(true);
    }
  });
});

describe('headers', () => {
  test('one that we re-encrypted is read by the reference', async () => {
    const container = await peer.ask('encrypt', { data: plaintext, recipients: [alice.publicKey] });
    const body = container.subarray(headerLength(container));
    const random = (size: number) => crypto.getRandomValues(new Uint8Array(size));
    for (const derivation of [{ secret: alice.privateKey, context: 'file' }, { random }]) {
      const header = reencryptHeader({
        header: container,
        readerKeys: [alice.privateKey],
        recipients: [bob.publicKey, carol.publicKey],
        derivation,
      });
      for (const { privateKey } of [bob, carol]) {
        expect((await theirDecrypt(Buffer.concat([header, body]), privateKey)).equals(plaintext)).toBe(true);
      }
    }
  });

  test('one to which we added recipients is read by the reference, by old and new ones', async () => {
    const container = await peer.ask('encrypt', { data: plaintext, recipients: [alice.publicKey] });
    const header = addRecipients({
      header: container,
      readerKeys: [alice.privateKey],
      recipients: [bob.publicKey],
    });
    const added = Buffer.concat([header, container.subarray(headerLength(container))]);
    for (const { privateKey } of [alice, bob]) {
      expect((await theirDecrypt(added, privateKey)).equals(plaintext)).toBe(true);
    }
  });

  test.each([true, false])('one that the reference re-encrypted is read by us (others trimmed: %s)', async (trim) => {
    const container = await ourEncrypt(plaintext, [alice.publicKey, carol.publicKey]);
    const again = await peer.ask('reencrypt', {
      data: container,
      privateKey: alice.privateKey,
      recipients: [bob.publicKey],
      trim,
    });
    expect((await ourDecrypt(again, bob.privateKey)).equals(plaintext)).toBe(true);
    const readableByCarol = await ourDecrypt(again, carol.privateKey).then(
      () => true,
      () => false,
    );
    expect(readableByCarol).toBe(!trim);
  });

  test('of a known sender are told by the reference as by us', async () => {
    const container = await peer.ask('encrypt', { data: plaintext, recipients: [alice.publicKey] });
    // The writer's key stands unencrypted (Crypt4GH § 3.2.2).
    const sender = container.subarray(24, 56);
    expect((await theirDecrypt(container, alice.privateKey, { sender })).equals(plaintext)).toBe(true);
    expect(openHeader(container, [alice.privateKey], { sender }).dataKeys).toHaveLength(1);
    await expect(theirDecrypt(container, alice.privateKey, { sender: bob.publicKey })).rejects.toThrow();
  });
});

describe('edit lists', () => {
  /** Those that the reference can read: no skip after the first nor keep of 0 bytes, nothing of 2^63 and more. */
  const lists = [
    [0n, 10n],
    [5n, 100n],
    [65_530n, 20n],
    [10n, 65_536n],
    [100n, 200n, 300n, 400n],
    [70_000n],
    [10n, 20n, 30n],
    [1n, 131_072n, 1n, 7n],
    [65_536n, 65_536n, 10n, 100n],
    [200_000n, 1_000_000n],
  ];

  test.each(lists.map((list) => [list.join(), list] as const))('%s: ours is read by the reference', async (_, list) => {
    const dataKey = new Uint8Array(32).fill(7);
    const header = encryptHeader({ dataKeys: [dataKey], editList: list, recipients: [alice.publicKey] });
    const container = Buffer.concat([header, await collect(encryptSegments([plaintext], { dataKey }))]);
    const read = await theirDecrypt(container, alice.privateKey);
    expect(read.equals(applyPlainly(plaintext, list))).toBe(true);
  });

  test.each(lists.map((list) => [list.join(), list] as const))('%s: theirs is read by us', async (_, list) => {
    const container = await peer.ask('with_edit_list', {
      data: plaintext,
      recipient: alice.publicKey,
      lengths: list.map(Number),
    });
    expect((await ourDecrypt(container, alice.privateKey)).equals(applyPlainly(plaintext, list))).toBe(true);
  });

  const ranges = [
    [0, 10],
    [1, 65_535],
    [65_530, 20],
    [65_536, 65_536],
    [100_000, 100_000],
    [131_072, 118_928],
  ] as const;

  test.each(ranges)('what the reference rearranged to %i+%i is read by us', async (start, span) => {
    const container = await ourEncrypt(plaintext, [alice.publicKey]);
    const less = await peer.ask('rearrange', { data: container, privateKey: alice.privateKey, start, span });
    const read = await ourDecrypt(less, alice.privateKey);
    expect(read.equals(plaintext.subarray(start, start + span))).toBe(true);
  });
});

describe('keys', () => {
  const passphrase = 'geheim æøå 秘密';
  const kdfs = ['none', 'scrypt', 'bcrypt', 'pbkdf2_hmac_sha256'] as const;

  test.each(kdfs)('a key file of ours (%s) is read by the reference', async (kdf) => {
    const protection = kdf === 'none' ? {} : { passphrase, kdf };
    for (const comment of [{}, { comment: 'a comment' }]) {
      const file = Buffer.from(await formatPrivateKey(alice.privateKey, { ...protection, ...comment }));
      expect(await peer.ask('read_key', { file, passphrase })).toEqual(Buffer.from(alice.privateKey));
      if (kdf !== 'none') await expect(peer.ask('read_key', { file, passphrase: 'wrong' })).rejects.toThrow();
    }
  });

  test.each(kdfs)('a key file of the reference (%s) is read by us', async (kdf) => {
    for (const comment of [false, true]) {
      const file = await peer.ask('write_key', { privateKey: alice.privateKey, passphrase, kdf, comment });
      expect(await parsePrivateKey(file, passphrase)).toEqual(alice.privateKey);
      if (kdf === 'none') continue;
      await expect(parsePrivateKey(file, 'wrong')).rejects.toMatchObject({ code: 'wrong-passphrase' });
    }
  });

  test('public keys are the same, in file and by computation', async () => {
    const file = Buffer.from(formatPublicKey(alice.publicKey));
    expect(await peer.ask('read_public_key', { file })).toEqual(Buffer.from(alice.publicKey));
    for (let count = 0; count < 20; count += 1) {
      const { privateKey, publicKey } = generateKeyPair();
      expect(await peer.ask('public_key', { privateKey })).toEqual(Buffer.from(publicKey));
    }
  });

  test.each(['ssh_plain', 'ssh_aes256ctr', 'ssh_aes128ctr'])('the OpenSSH key %s is the same to both', async (id) => {
    const vector = keyVector(id);
    const file = vectorFile(`keys/${id}`);
    const ours = await parsePrivateKey(file, vector.passphrase ?? undefined);
    expect(await peer.ask('read_key', { file, passphrase: vector.passphrase ?? '' })).toEqual(Buffer.from(ours));
    const line = vectorFile(`keys/${id}.pub`);
    expect(parsePublicKey(line)).toEqual(publicKeyOf(ours));
    expect(await peer.ask('read_public_key', { file: line })).toEqual(Buffer.from(publicKeyOf(ours)));
  });
});
