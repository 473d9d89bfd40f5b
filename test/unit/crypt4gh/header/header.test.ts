import { describe, expect, test } from 'vitest';
import { serializeHeader } from '../../../../lib/crypt4gh/header/header.ts';
import { sealingKey, sealPackets } from '../../../../lib/crypt4gh/header/packets.ts';
import {
  encryptHeader,
  generateKeyPair,
  headerLength,
  headerLimits,
  openHeader,
} from '../../../../lib/crypt4gh/index.ts';
import { preparePrivateKey } from '../../../../lib/crypt4gh/keys/x25519.ts';

const dataKey = new Uint8Array(32).fill(3);

function preamble(packetCount: number): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.write('crypt4gh', 'ascii');
  bytes.writeUInt32LE(1, 8);
  bytes.writeUInt32LE(packetCount, 12);
  return bytes;
}

function packet(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.writeUInt32LE(length);
  return bytes;
}

describe('the length of a header', () => {
  const { publicKey } = generateKeyPair();
  const header = encryptHeader({ dataKeys: [dataKey, dataKey], editList: [1n, 2n, 3n], recipients: [publicKey] });

  test('is 16 and, for each recipient, 108 for a data key, 76 and 8 for each length for an edit list', () => {
    expect(header.length).toBe(16 + 108 + 108 + 76 + 3 * 8);
    expect(headerLength(Buffer.concat([header, Buffer.alloc(100)]))).toBe(header.length);
  });

  test('is refused as soon as the bytes cannot be a header', () => {
    expect(() => headerLength(Buffer.from('cram'))).toThrow(expect.objectContaining({ code: 'bad-magic' }));
    expect(() => headerLength(preamble(headerLimits.packets + 1))).toThrow(
      expect.objectContaining({ code: 'too-many-packets' }),
    );
  });
});

describe('limits', () => {
  test('as many packets as the limit are read', () => {
    const packets = Array.from({ length: headerLimits.packets }, () => packet(8));
    const header = Buffer.concat([preamble(packets.length), ...packets]);
    expect(headerLength(header)).toBe(16 + 8 * 65_536);
    expect(() => openHeader(header, [new Uint8Array(32)])).toThrow(
      expect.objectContaining({ code: 'no-decryptable-packet', packetCount: 65_536 }),
    );
  });

  test('a packet that ends at 16 MiB is awaited, one byte more is refused before it comes', () => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(headerLimits.bytes - 16);
    expect(headerLength(Buffer.concat([preamble(1), length]))).toBeUndefined();
    length.writeUInt32LE(headerLimits.bytes - 15);
    expect(() => headerLength(Buffer.concat([preamble(1), length]))).toThrow(
      expect.objectContaining({ code: 'header-too-large' }),
    );
  });

  const own = generateKeyPair();
  /** A header of payloads that {@link encryptHeader} would not write. */
  function headerOf(payloads: readonly Uint8Array[]): Buffer {
    const key = sealingKey(preparePrivateKey(own.privateKey), own.publicKey);
    return serializeHeader(sealPackets(payloads, key, (index) => Buffer.alloc(12, index)));
  }

  test('a reader has as many data keys as the limit: each could cost a try at every segment', () => {
    const keys = (count: number) => Array.from({ length: count }, () => Buffer.alloc(40, 0));
    expect(openHeader(headerOf(keys(headerLimits.dataKeys)), [own.privateKey]).dataKeys).toHaveLength(256);
    expect(() => openHeader(headerOf(keys(headerLimits.dataKeys + 1)), [own.privateKey])).toThrow(
      expect.objectContaining({ code: 'too-many-packets' }),
    );
  });

  test('an edit list has as many lengths as the limit', () => {
    const list = (count: number) => {
      const payload = Buffer.alloc(8 + 8 * count);
      payload.writeUInt32LE(1, 0);
      payload.writeUInt32LE(count, 4);
      return headerOf([Buffer.alloc(40), payload]);
    };
    const limit = headerLimits.editListLengths;
    expect(openHeader(list(limit), [own.privateKey]).editList?.length).toBe(262_144);
    expect(() => openHeader(list(limit + 1), [own.privateKey])).toThrow(
      expect.objectContaining({ code: 'header-too-large' }),
    );
  });

  describe('packets of more writers than the limit', () => {
    const packetOf = (writer: number) => {
      const bytes = Buffer.alloc(72);
      bytes.writeUInt32LE(72);
      bytes.writeUInt32LE(2 + writer, 8);
      return bytes;
    };
    const header = Buffer.concat([preamble(1_025), ...Array.from({ length: 1_025 }, (_, index) => packetOf(index))]);

    test('are refused before the first key agreement', () => {
      expect(() => openHeader(header, [own.privateKey])).toThrow(expect.objectContaining({ code: 'too-many-packets' }));
    });

    test('are passed over where one sender alone is accepted', () => {
      const sender = own.publicKey;
      expect(() => openHeader(header, [own.privateKey], { sender })).toThrow(
        expect.objectContaining({ code: 'no-decryptable-packet' }),
      );
    });
  });

  test('a header beyond the limits is not written', () => {
    const { publicKey } = generateKeyPair();
    const recipients = [publicKey, ...Array.from({ length: 8 }, () => generateKeyPair().publicKey)];
    const editList = Array.from({ length: headerLimits.editListLengths }, () => 1n);
    expect(() => encryptHeader({ dataKeys: [dataKey], editList, recipients })).toThrow(RangeError);
  });
});

describe('readers', () => {
  const [one, two, other] = [generateKeyPair(), generateKeyPair(), generateKeyPair()];
  const header = encryptHeader({ dataKeys: [dataKey], editList: [5n], recipients: [one.publicKey, two.publicKey] });

  test('each finds its own data key and edit list', () => {
    for (const { privateKey } of [one, two]) {
      const opened = openHeader(header, [privateKey]);
      expect(opened.dataKeys).toEqual([dataKey]);
      expect(opened.editList).toEqual([5n]);
      expect(opened.packetCount).toBe(4);
    }
  });

  test('who has several keys is one reader: copies for two of them are not two edit lists', () => {
    const opened = openHeader(header, [other.privateKey, one.privateKey, two.privateKey]);
    expect(opened.dataKeys).toEqual([dataKey]);
    expect(opened.editList).toEqual([5n]);
  });
});

test('a recipient of small order is refused as a key', () => {
  expect(() => encryptHeader({ dataKeys: [dataKey], recipients: [new Uint8Array(32)] })).toThrow(
    expect.objectContaining({ code: 'weak-public-key' }),
  );
});

test('the key of the sender is overwritten when the header is made', () => {
  const given: Uint8Array[] = [];
  const random = (size: number) => {
    given.push(new Uint8Array(size).fill(1));
    return given.at(-1)!;
  };
  encryptHeader({ dataKeys: [dataKey], recipients: [generateKeyPair().publicKey], random });
  expect(given).toEqual([new Uint8Array(32), new Uint8Array(12).fill(1)]);
});
