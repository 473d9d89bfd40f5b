import { createSecretKey, type KeyObject } from 'node:crypto';
import { type ByteSource, expectLength, type Random, systemRandom } from './bytes.ts';
import { EditListCursor, type Slice } from './edit-list.ts';
import { DamagedBodyError } from './errors.ts';
import { PieceCutter } from './pieces.ts';
import { seal, unseal } from './sealed.ts';
import { ENCRYPTED_SEGMENT_BYTES, NONCE_BYTES, SEGMENT_BYTES, SEGMENT_OVERHEAD } from './sizes.ts';

const DATA_KEY_BYTES = 32;

/** A data key made ready once: handing raw bytes to each cipher costs a third of a segment's time. */
function prepareDataKey(dataKey: Uint8Array): KeyObject {
  expectLength(dataKey, DATA_KEY_BYTES, 'a data key');
  return createSecretKey(dataKey);
}

/**
 * Encrypts a plaintext of any length to the segments of a body, in constant memory; each yield is one whole segment.
 * An empty plaintext becomes an empty body.
 *
 * @param options.dataKey 32 bytes, for this body alone.
 * @param options.random gives the nonce of each segment; default: the system's.
 * @throws RangeError when the key is not 32 bytes.
 */
export async function* encryptSegments(
  source: ByteSource,
  options: { readonly dataKey: Uint8Array; readonly random?: Random },
): AsyncGenerator<Uint8Array, void, undefined> {
  const { random = systemRandom } = options;
  const dataKey = prepareDataKey(options.dataKey);
  const cutter = new PieceCutter(SEGMENT_BYTES);
  for await (const chunk of source) {
    for (const piece of cutter.push(chunk)) yield seal(piece, dataKey, random(NONCE_BYTES));
  }
  const rest = cutter.rest();
  if (rest.length > 0) yield seal(rest, dataKey, random(NONCE_BYTES));
}

/**
 * Decrypts a body to the plaintext that the edit list leaves, in constant memory. Bytes are given out only after their
 * whole segment has authenticated. Segments that the edit list skips whole are not decrypted, and after its last keep
 * the source is closed.
 *
 * The format does not show segments that are missing at the end, moved or repeated (Crypt4GH § 1.1, § 5.4): compare
 * with a length or checksum from elsewhere.
 *
 * @param source the body, from its first byte.
 * @param options.dataKeys 32 bytes each; for each segment the key that fitted last is tried first.
 * @param options.editList bytes to skip and keep in turn; default: everything is kept.
 * @throws DamagedBodyError; RangeError when there is no key or one is not 32 bytes.
 */
export async function* decryptSegments(
  source: ByteSource,
  options: { readonly dataKeys: readonly Uint8Array[]; readonly editList?: readonly bigint[] | undefined },
): AsyncGenerator<Uint8Array, void, undefined> {
  const decryptor = new SegmentDecryptor(options.dataKeys);
  const cursor = options.editList && new EditListCursor(options.editList);
  const cutter = new PieceCutter(ENCRYPTED_SEGMENT_BYTES);
  for await (const chunk of source) {
    for (const segment of cutter.push(chunk)) {
      for (const plaintext of decryptor.decrypt(segment, cursor)) yield plaintext;
    }
    if (cursor?.finished === true) return;
  }
  const rest = cutter.rest();
  if (rest.length > 0) yield* decryptor.decrypt(rest, cursor);
}

/** Decrypts the segments of one body in order. */
class SegmentDecryptor {
  readonly #keys: KeyObject[];
  #index = 0;

  constructor(dataKeys: readonly Uint8Array[]) {
    if (dataKeys.length === 0) throw new RangeError('expected at least one data key');
    this.#keys = dataKeys.map(prepareDataKey);
  }

  *decrypt(segment: Buffer, cursor: EditListCursor | undefined): Generator<Buffer, void, undefined> {
    const index = this.#index++;
    if (segment.length < SEGMENT_OVERHEAD) throw damaged('truncated-segment', index, segment.length);
    const length = segment.length - SEGMENT_OVERHEAD;
    const slices: readonly Slice[] = cursor?.slices(BigInt(index) * BigInt(SEGMENT_BYTES), length) ?? [
      { from: 0, to: length },
    ];
    if (slices.length === 0) return;
    const plaintext = this.#open(segment);
    if (plaintext === undefined) throw damaged('segment-authentication-failed', index, segment.length);
    for (const { from, to } of slices) if (to > from) yield plaintext.subarray(from, to);
  }

  #open(segment: Buffer): Buffer | undefined {
    for (const [position, key] of this.#keys.entries()) {
      const plaintext = unseal(segment, key);
      if (plaintext === undefined) continue;
      if (position > 0) this.#keys.unshift(...this.#keys.splice(position, 1));
      return plaintext;
    }
    return undefined;
  }
}

function damaged(code: DamagedBodyError['code'], index: number, length: number): DamagedBodyError {
  const start = index * ENCRYPTED_SEGMENT_BYTES;
  return new DamagedBodyError(code, index, start, start + length);
}
