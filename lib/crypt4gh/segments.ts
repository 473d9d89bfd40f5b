import { type ByteSource, type Random, systemRandom } from './bytes.ts';
import { EditListCursor } from './edit-list.ts';
import { PieceCutter } from './pieces.ts';
import { seal } from './sealed.ts';
import { BodySizeCheck, damagedSegment, prepareDataKey, SegmentDecryptor } from './segment-decryptor.ts';
import { ENCRYPTED_SEGMENT_BYTES, NONCE_BYTES, SEGMENT_BYTES, SEGMENT_OVERHEAD } from './sizes.ts';

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
 * The format does not show segments that are missing at the end, moved or repeated (Crypt4GH § 1.1, § 5.4). With
 * `expectedSize` a body of another length is an error; moved and repeated segments need a checksum from elsewhere.
 *
 * @param source the body, from its first byte.
 * @param options.dataKeys 32 bytes each; for each segment the key that fitted last is tried first.
 * @param options.editList bytes to skip and keep in turn; default: everything is kept.
 * @param options.expectedSize bytes of the plaintext before the edit list, known from elsewhere; default: not checked.
 * What comes after the edit list's last keep is not read, and so not checked either.
 * @throws DamagedBodyError; RangeError when there is no key, one is not 32 bytes, or the size is no size.
 */
export async function* decryptSegments(
  source: ByteSource,
  options: {
    readonly dataKeys: readonly Uint8Array[];
    readonly editList?: readonly bigint[] | undefined;
    readonly expectedSize?: number | undefined;
  },
): AsyncGenerator<Uint8Array, void, undefined> {
  const decryptor = new BodyDecryptor(options);
  const cutter = new PieceCutter(ENCRYPTED_SEGMENT_BYTES);
  for await (const chunk of source) {
    for (const segment of cutter.push(chunk)) {
      for (const plaintext of decryptor.decrypt(segment)) yield plaintext;
    }
    if (decryptor.finished) return;
  }
  const rest = cutter.rest();
  if (rest.length > 0) yield* decryptor.decrypt(rest);
  decryptor.end();
}

/** Decrypts the segments of one body in order. */
class BodyDecryptor {
  readonly #decryptor: SegmentDecryptor;
  readonly #cursor: EditListCursor | undefined;
  readonly #size: BodySizeCheck | undefined;
  #index = 0;

  constructor(options: Parameters<typeof decryptSegments>[1]) {
    const { dataKeys, editList, expectedSize } = options;
    this.#decryptor = new SegmentDecryptor(dataKeys);
    this.#cursor = editList && new EditListCursor(editList);
    this.#size = expectedSize === undefined ? undefined : new BodySizeCheck(expectedSize);
  }

  /** Whether nothing of what comes after the segments seen so far is kept. */
  get finished(): boolean {
    return this.#cursor?.finished === true;
  }

  *decrypt(segment: Buffer): Generator<Buffer, void, undefined> {
    const index = this.#index++;
    if (segment.length < SEGMENT_OVERHEAD) throw damagedSegment('truncated-segment', index, segment.length);
    this.#size?.segment(index, segment.length);
    const length = segment.length - SEGMENT_OVERHEAD;
    const slices = this.#cursor?.slices(BigInt(index) * BigInt(SEGMENT_BYTES), length) ?? [{ from: 0, to: length }];
    if (slices.length === 0) return;
    const plaintext = this.#decryptor.open(segment, index);
    for (const { from, to } of slices) if (to > from) yield plaintext.subarray(from, to);
  }

  /** @throws DamagedBodyError when the body must not end here. */
  end(): void {
    if (!this.finished) this.#size?.end(this.#index);
  }
}
