import { expectLength } from '../bytes.ts';
import { MalformedHeaderError } from '../errors.ts';
import { dataKeyBytes } from '../sizes.ts';
import { headerLimits } from './header.ts';

/** Packet types (Crypt4GH § 3.2.3, § 3.2.4). */
const typeDataKey = 0;
const typeEditList = 1;
/** ChaCha20-IETF-Poly1305: the only data encryption (Crypt4GH § 3.2.3). */
const dataMethodChacha20 = 0;
const dataKeyPayloadBytes = 8 + dataKeyBytes;
const lengthFieldBytes = 8;
const maximumLength = 2n ** 64n - 1n;

/** The content of an opened packet: a data key (Crypt4GH § 3.2.3) or an edit list (Crypt4GH § 3.2.4). */
export type Payload =
  | { readonly type: 'data-key'; readonly key: Uint8Array }
  /** Bytes to skip and bytes to keep in turn, unsigned 64-bit. */
  | { readonly type: 'edit-list'; readonly lengths: readonly bigint[] };

/** Reads a decrypted payload. Bytes after its content are padding and are ignored (Crypt4GH § 3.2.1). */
export function decodePayload(payload: Buffer): Payload {
  if (payload.length < 4) throw new MalformedHeaderError('malformed-packet', 'a header packet has no type');
  const type = payload.readUInt32LE(0);
  if (type === typeDataKey) return decodeDataKey(payload);
  if (type === typeEditList) return decodeEditList(payload);
  // Not skipped: such a packet can restrict what a reader may see.
  throw new MalformedHeaderError('unknown-packet-type', `a header packet has the unknown type ${type}`);
}

function decodeDataKey(payload: Buffer): Payload {
  if (payload.length < 8) throw new MalformedHeaderError('malformed-packet', 'a data key packet is too short');
  const method = payload.readUInt32LE(4);
  if (method !== dataMethodChacha20) {
    throw new MalformedHeaderError(
      'unsupported-data-encryption-method',
      `the body is encrypted by the unknown method ${method}`,
    );
  }
  if (payload.length < dataKeyPayloadBytes) {
    throw new MalformedHeaderError('malformed-packet', 'a data key packet is too short');
  }
  return { type: 'data-key', key: new Uint8Array(payload.subarray(8, dataKeyPayloadBytes)) };
}

function decodeEditList(payload: Buffer): Payload {
  if (payload.length < 8) throw new MalformedHeaderError('malformed-edit-list', 'an edit list has no count');
  const count = payload.readUInt32LE(4);
  // Checked by division, before memory of that size is taken.
  if (count > (payload.length - 8) / lengthFieldBytes) {
    throw new MalformedHeaderError('malformed-edit-list', `an edit list of ${count} lengths is cut short`);
  }
  if (count > headerLimits.editListLengths) {
    throw new MalformedHeaderError('header-too-large', `an edit list has ${count} lengths`);
  }
  const lengths = Array.from({ length: count }, (_, index) => payload.readBigUInt64LE(8 + lengthFieldBytes * index));
  return { type: 'edit-list', lengths };
}

/** The reverse of {@link decodePayload} for all payloads of a header, without padding. */
export function encodePayloads(payloads: readonly Payload[]): Buffer[] {
  const dataKeys = payloads.filter(({ type }) => type === 'data-key').length;
  if (dataKeys > headerLimits.dataKeys) {
    throw new RangeError(`a header of ${dataKeys} data keys for each recipient is beyond the limits`);
  }
  return payloads.map(encodePayload);
}

function encodePayload(payload: Payload): Buffer {
  if (payload.type === 'data-key') {
    expectLength(payload.key, dataKeyBytes, 'a data key');
    const bytes = Buffer.alloc(dataKeyPayloadBytes);
    bytes.writeUInt32LE(typeDataKey, 0);
    bytes.writeUInt32LE(dataMethodChacha20, 4);
    bytes.set(payload.key, 8);
    return bytes;
  }
  if (payload.lengths.length > headerLimits.editListLengths) {
    throw new RangeError(`an edit list of ${payload.lengths.length} lengths is beyond the limits`);
  }
  const bytes = Buffer.alloc(8 + lengthFieldBytes * payload.lengths.length);
  bytes.writeUInt32LE(typeEditList, 0);
  bytes.writeUInt32LE(payload.lengths.length, 4);
  for (const [index, length] of payload.lengths.entries()) {
    if (length < 0n || length > maximumLength) throw new RangeError('an edit list length must fit 64 bits, unsigned');
    bytes.writeBigUInt64LE(length, 8 + lengthFieldBytes * index);
  }
  return bytes;
}
