import { expectLength } from '../bytes.ts';
import { MalformedHeaderError } from '../errors.ts';
import { DATA_KEY_BYTES } from '../sizes.ts';
import { headerLimits } from './header.ts';

/** Packet types (Crypt4GH § 3.2.3, § 3.2.4). */
const TYPE_DATA_KEY = 0;
const TYPE_EDIT_LIST = 1;
/** ChaCha20-IETF-Poly1305: the only data encryption (Crypt4GH § 3.2.3). */
const DATA_METHOD_CHACHA20 = 0;
const DATA_KEY_PAYLOAD_BYTES = 8 + DATA_KEY_BYTES;
const LENGTH_FIELD_BYTES = 8;
const MAXIMUM_LENGTH = 2n ** 64n - 1n;

/** The content of an opened packet: a data key (Crypt4GH § 3.2.3) or an edit list (Crypt4GH § 3.2.4). */
export type Payload =
  | { readonly type: 'data-key'; readonly key: Uint8Array }
  /** Bytes to skip and bytes to keep in turn, unsigned 64-bit. */
  | { readonly type: 'edit-list'; readonly lengths: readonly bigint[] };

/**
 * Reads a decrypted payload. Bytes after its content are padding and are ignored (Crypt4GH § 3.2.1).
 *
 * @throws MalformedHeaderError, for an unknown type too: such a packet may restrict what a reader may see.
 */
export function decodePayload(payload: Buffer): Payload {
  if (payload.length < 4) throw new MalformedHeaderError('malformed-packet', 'a header packet has no type');
  const type = payload.readUInt32LE(0);
  if (type === TYPE_DATA_KEY) return decodeDataKey(payload);
  if (type === TYPE_EDIT_LIST) return decodeEditList(payload);
  throw new MalformedHeaderError('unknown-packet-type', `a header packet has the unknown type ${type}`);
}

function decodeDataKey(payload: Buffer): Payload {
  if (payload.length < 8) throw new MalformedHeaderError('malformed-packet', 'a data key packet is too short');
  const method = payload.readUInt32LE(4);
  if (method !== DATA_METHOD_CHACHA20) {
    throw new MalformedHeaderError(
      'unsupported-data-encryption-method',
      `the body is encrypted by the unknown method ${method}`,
    );
  }
  if (payload.length < DATA_KEY_PAYLOAD_BYTES) {
    throw new MalformedHeaderError('malformed-packet', 'a data key packet is too short');
  }
  return { type: 'data-key', key: new Uint8Array(payload.subarray(8, DATA_KEY_PAYLOAD_BYTES)) };
}

function decodeEditList(payload: Buffer): Payload {
  if (payload.length < 8) throw new MalformedHeaderError('malformed-edit-list', 'an edit list has no count');
  const count = payload.readUInt32LE(4);
  // Checked by division, before memory of that size is taken.
  if (count > (payload.length - 8) / LENGTH_FIELD_BYTES) {
    throw new MalformedHeaderError('malformed-edit-list', `an edit list of ${count} lengths is cut short`);
  }
  if (count > headerLimits.editListLengths) {
    throw new MalformedHeaderError('header-too-large', `an edit list has ${count} lengths`);
  }
  const lengths = Array.from({ length: count }, (_, index) => payload.readBigUInt64LE(8 + LENGTH_FIELD_BYTES * index));
  return { type: 'edit-list', lengths };
}

/**
 * The reverse of {@link decodePayload} for all payloads of a header, without padding.
 *
 * @throws RangeError if a value does not fit its field, or the payloads exceed {@link headerLimits}.
 */
export function encodePayloads(payloads: readonly Payload[]): Buffer[] {
  const dataKeys = payloads.filter(({ type }) => type === 'data-key').length;
  if (dataKeys > headerLimits.dataKeys) {
    throw new RangeError(`a header of ${dataKeys} data keys for each recipient is beyond the limits`);
  }
  return payloads.map(encodePayload);
}

function encodePayload(payload: Payload): Buffer {
  if (payload.type === 'data-key') {
    expectLength(payload.key, DATA_KEY_BYTES, 'a data key');
    const bytes = Buffer.alloc(DATA_KEY_PAYLOAD_BYTES);
    bytes.writeUInt32LE(TYPE_DATA_KEY, 0);
    bytes.writeUInt32LE(DATA_METHOD_CHACHA20, 4);
    bytes.set(payload.key, 8);
    return bytes;
  }
  if (payload.lengths.length > headerLimits.editListLengths) {
    throw new RangeError(`an edit list of ${payload.lengths.length} lengths is beyond the limits`);
  }
  const bytes = Buffer.alloc(8 + LENGTH_FIELD_BYTES * payload.lengths.length);
  bytes.writeUInt32LE(TYPE_EDIT_LIST, 0);
  bytes.writeUInt32LE(payload.lengths.length, 4);
  for (const [index, length] of payload.lengths.entries()) {
    if (length < 0n || length > MAXIMUM_LENGTH) throw new RangeError('an edit list length must fit 64 bits, unsigned');
    bytes.writeBigUInt64LE(length, 8 + LENGTH_FIELD_BYTES * index);
  }
  return bytes;
}
