import { describe, expect, test } from 'vitest';
import {
  decryptedSize,
  decryptSegments,
  encryptedBodySize,
  encryptHeader,
  encryptSegments,
  openHeader,
  publicKeyOf,
} from '../../lib/crypt4gh/index.ts';
import { keyAgreement, preparePrivateKey } from '../../lib/crypt4gh/keys/x25519.ts';
import { collect, generatedPlaintext, vectorFile } from '../helpers/crypt4gh-vectors.ts';

const answers = JSON.parse(vectorFile('kat.json').toString('utf8'));

function bytes(name: string): Buffer {
  return Buffer.from(answers[name], 'hex');
}

function hex(value: Uint8Array | undefined): string | undefined {
  return value && Buffer.from(value).toString('hex');
}

/** Gives the stated bytes in turn, and refuses a call it does not know. */
function scripted(...names: string[]) {
  const left = names.map(bytes);
  return (size: number) => {
    const next = left.shift();
    if (next?.length !== size) throw new Error(`unexpected demand of ${size} random bytes`);
    return next;
  };
}

describe('known answers', () => {
  test('public keys', () => {
    expect(hex(publicKeyOf(bytes('reader_secret')))).toBe(answers.reader_public);
    expect(hex(publicKeyOf(bytes('writer_secret')))).toBe(answers.writer_public);
  });

  test('key agreement, from both sides', () => {
    const reader = preparePrivateKey(bytes('reader_secret'));
    const writer = preparePrivateKey(bytes('writer_secret'));
    expect(hex(keyAgreement(reader.key, bytes('writer_public')))).toBe(answers.x25519_shared);
    expect(hex(keyAgreement(writer.key, bytes('reader_public')))).toBe(answers.x25519_shared);
  });

  test('header of one data key', () => {
    const header = encryptHeader({
      dataKeys: [bytes('data_key')],
      recipients: [bytes('reader_public')],
      random: scripted('writer_secret', 'packet_nonce'),
    });
    expect(hex(header)).toBe(answers.header);
    expect(header.length).toBe(16 + answers.lengths.data_key_packet);
  });

  test('header with an edit list', () => {
    const editList: bigint[] = answers.edit_list.map(BigInt);
    const header = encryptHeader({
      dataKeys: [bytes('data_key')],
      editList,
      recipients: [bytes('reader_public')],
      random: scripted('writer_secret', 'packet_nonce', 'edit_packet_nonce'),
    });
    const editPacket = header.subarray(16 + 108);
    expect(hex(editPacket.subarray(4))).toBe(answers.edit_packet_without_length);
    expect(editPacket.length).toBe(76 + 8 * editList.length);
    expect(openHeader(header, [bytes('reader_secret')]).editList).toEqual(editList);
  });

  test('opened header', () => {
    const opened = openHeader(bytes('container'), [bytes('reader_secret')]);
    expect(opened.dataKeys.map(hex)).toEqual([answers.data_key]);
    expect(opened).toMatchObject({ length: 124, packetCount: 1, editList: undefined });
  });

  test('segment, both ways', async () => {
    const encrypted = encryptSegments([bytes('segment_plaintext')], {
      dataKey: bytes('data_key'),
      random: scripted('segment_nonce'),
    });
    expect(hex(await collect(encrypted))).toBe(answers.segment);
    const decrypted = decryptSegments([bytes('segment')], { dataKeys: [bytes('data_key')] });
    expect(hex(await collect(decrypted))).toBe(answers.segment_plaintext);
  });

  test.each<{ plain: string; encrypted_body: string }>(answers.length_table)(
    'length of $plain bytes encrypted',
    ({ plain, encrypted_body: body }) => {
      if (BigInt(body) > Number.MAX_SAFE_INTEGER) {
        expect(() => encryptedBodySize(Number(plain))).toThrow(RangeError);
      } else {
        expect(encryptedBodySize(Number(plain))).toBe(Number(body));
        expect(decryptedSize(Number(body))).toBe(Number(plain));
      }
    },
  );

  test('the generator that the vectors describe their plaintext by', () => {
    const { seed, length, hex: expected } = answers.plaintext_generator_check;
    expect(hex(generatedPlaintext(seed, length))).toBe(expected);
  });
});
