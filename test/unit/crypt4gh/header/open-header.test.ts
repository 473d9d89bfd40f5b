import { expect, test, vi } from 'vitest';
import { serializeHeader } from '../../../../lib/crypt4gh/header/header.ts';
import { sealingKey, sealPackets } from '../../../../lib/crypt4gh/header/packets.ts';
import { generateKeyPair, headerLimits, openHeader } from '../../../../lib/crypt4gh/index.ts';
import { preparePrivateKey } from '../../../../lib/crypt4gh/keys/x25519.ts';

const own = generateKeyPair();
const dataKey = Buffer.concat([Buffer.alloc(8), Buffer.alloc(32, 7)]);
const editList = Buffer.from('01000000' + '00000000', 'hex');
const editListCutShort = Buffer.from('01000000' + '01000000', 'hex');
const unknownType = Buffer.from('02000000', 'hex');
const tooMany = Array.from({ length: headerLimits.dataKeys + 1 }, () => dataKey);

test.each<[string, readonly Buffer[], number]>([
  ['multiple-edit-lists', [dataKey, editList, editList, dataKey], 2],
  ['malformed-edit-list', [dataKey, editListCutShort], 1],
  ['unknown-packet-type', [dataKey, dataKey, unknownType], 2],
  ['too-many-packets', tooMany, 257],
])('a header that is refused leaves no copy of a data key: %s', (code, payloads, copies) => {
  const key = sealingKey(preparePrivateKey(own.privateKey), own.publicKey);
  const header = serializeHeader(sealPackets(payloads, key, (index) => Buffer.alloc(12, index)));
  let wiped = 0;
  const bytes: Uint8Array = Object.getPrototypeOf(Uint8Array.prototype);
  const { fill } = bytes;
  vi.spyOn(bytes, 'fill').mockImplementation(function (this: Uint8Array, ...given) {
    const isCopy = this.constructor === Uint8Array && this.length === 32 && this.every((byte) => byte === 7);
    const filled = fill.apply(this, given);
    if (isCopy && this.every((byte) => byte === 0)) wiped += 1;
    return filled;
  });
  expect(() => openHeader(header, [own.privateKey])).toThrow(expect.objectContaining({ code }));
  vi.restoreAllMocks();
  expect(wiped).toBe(copies);
});
