import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  decrypt,
  encrypt,
  encryptFile,
  encryptHeader,
  encryptSegments,
  generateKeyPair,
  NoMatchingKeyError,
  openHeader,
  publicKeyOf,
} from '../../../../lib/crypt4gh/index.ts';
import { collect, keyVector } from '../../../helpers/crypt4gh-vectors.ts';

const reader = generateKeyPair();
const other = generateKeyPair();
const alice = keyVector('alice');
const senderKey = Buffer.from(alice.private_key_hex ?? '', 'hex');
/** As the vectors have it, not as this library computes it. */
const sender = Buffer.from(alice.public_key_hex ?? '', 'hex');
const plaintext = Buffer.from('who wrote this?');

const encrypted = (options = {}) =>
  collect(encrypt([plaintext], { recipients: [other.publicKey, reader.publicKey], ...options }));
const decrypted = (container: Uint8Array, options = {}) =>
  collect(decrypt([container], { privateKeys: [reader.privateKey], ...options }));

describe('a container that was written with the key of its sender', () => {
  test('names the sender in every packet (Crypt4GH § 3.2.2)', async () => {
    const container = await encrypted({ senderKey });
    for (const start of [24, 24 + 108]) expect(container.subarray(start, start + 32)).toEqual(sender);
    expect(await decrypted(container, { sender })).toEqual(plaintext);
  });

  test('is the same from file to file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'data-out-sender-'));
    try {
      await writeFile(join(folder, 'plain'), plaintext);
      await using source = await open(join(folder, 'plain'));
      await using target = await open(join(folder, 'container'), 'w');
      await encryptFile(source, target, { recipients: [reader.publicKey], senderKey });
      const container = await readFile(join(folder, 'container'));
      expect(container.subarray(24, 56)).toEqual(sender);
      expect(await decrypted(container, { sender })).toEqual(plaintext);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('has new nonces each time: both keys are the same again (Crypt4GH § 3.3.1)', async () => {
    const nonces = await Promise.all([1, 2].map(async () => (await encrypted({ senderKey })).toString('hex', 56, 68)));
    expect(nonces[0]).not.toBe(nonces[1]);
  });

  test('leaves the key to the caller', async () => {
    const given = Uint8Array.from(senderKey);
    await encrypted({ senderKey: given });
    expect(Buffer.from(given)).toEqual(senderKey);
    expect(Buffer.from(publicKeyOf(given))).toEqual(sender);
  });
});

describe('a container of another writer', () => {
  test('is refused, and the error says that another key would not help', async () => {
    const container = await encrypted();
    const refused = decrypted(container, { sender });
    await expect(refused).rejects.toThrow(NoMatchingKeyError);
    await expect(refused).rejects.toMatchObject({
      code: 'no-decryptable-packet',
      isOfOtherSender: true,
      message: expect.stringContaining('the expected sender did not write it'),
    });
  });

  test('whose key differs in one byte is another writer', async () => {
    const container = await encrypted({ senderKey });
    for (const [at, byte] of sender.entries()) {
      await expect(decrypted(container, { sender: sender.with(at, byte ^ 1) })).rejects.toThrow(NoMatchingKeyError);
    }
  });

  test('for another reader is reported as such, for any writer', async () => {
    const { privateKey } = generateKeyPair();
    for (const options of [{}, { sender }]) {
      await expect(
        decrypted(await encrypted({ senderKey }), { privateKeys: [privateKey], ...options }),
      ).rejects.toMatchObject({
        isOfOtherSender: false,
        recipientCount: 2,
        message: expect.stringContaining('not encrypted for the given key'),
      });
    }
  });

  test('cannot be slipped in beside that of the sender', () => {
    const dataKeys = [new Uint8Array(32).fill(1)];
    const recipients = [reader.publicKey];
    const honest = encryptHeader({ dataKeys, recipients, senderKey });
    const forged = encryptHeader({ dataKeys: [new Uint8Array(32).fill(2)], editList: [5n], recipients });
    const count = Buffer.from([3, 0, 0, 0]);
    const header = Buffer.concat([honest.subarray(0, 12), count, forged.subarray(16), honest.subarray(16)]);
    const opened = openHeader(header, [reader.privateKey], { sender });
    expect(opened.dataKeys.map((key) => Uint8Array.from(key))).toEqual(dataKeys);
    expect(opened.editList).toBeUndefined();
  });
});

test('the sender answers for the data key, not for the body: another reader can write one that passes', async () => {
  const container = await encrypted({ senderKey });
  const { dataKeys, length } = openHeader(container, [other.privateKey]);
  const [dataKey = new Uint8Array()] = dataKeys;
  const body = await collect(encryptSegments([Buffer.from('by another reader')], { dataKey }));
  const forged = Buffer.concat([container.subarray(0, length), body]);
  expect(await decrypted(forged, { sender })).toEqual(Buffer.from('by another reader'));
});

test('a private key of 31 bytes is a mistake of the caller', () => {
  const dataKeys = [new Uint8Array(32)];
  const senderOf31 = { dataKeys, recipients: [reader.publicKey], senderKey: senderKey.subarray(1) };
  expect(() => encryptHeader(senderOf31)).toThrow(RangeError);
});
