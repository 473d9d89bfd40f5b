import { type ByteSource, expectByteSource, type Random, systemRandom } from '../bytes.ts';
import { seal } from '../sealed.ts';
import { ENCRYPTED_SEGMENT_BYTES, nonceBytes, SEGMENT_BYTES } from '../sizes.ts';
import { BodyPlan } from './body-plan.ts';
import { PieceCutter } from './pieces.ts';
import { prepareDataKey, SegmentDecryptor } from './segment-decryptor.ts';

/** Options of {@link encryptSegments} (Crypt4GH § 3.4.2). */
export interface EncryptSegmentsOptions {
  /** 32 bytes, for this body alone. */
  readonly dataKey: Uint8Array;
  /** Gives the nonce of each segment; default: the system's. */
  readonly random?: Random;
}

/** Options of {@link decryptSegments} (Crypt4GH § 4.1, § 4.2). */
export interface DecryptSegmentsOptions {
  /** 32 bytes each; for each segment the key that fitted last is tried first. */
  readonly dataKeys: readonly Uint8Array[];
  /** Bytes to skip and keep in turn; default: everything is kept. */
  readonly editList?: readonly bigint[] | undefined;
  /**
   * Bytes of the plaintext before the edit list, known from elsewhere; default: not checked. What comes after the edit
   * list's last keep is not read, and so not checked either.
   */
  readonly expectedSize?: number | undefined;
}

/**
 * What turns plaintext into bodies and back (Crypt4GH § 3.4.2, § 4.1): these functions on this thread, or `SegmentWorkers`
 * on others.
 */
export interface SegmentCipher {
  encryptSegments(source: ByteSource, options: EncryptSegmentsOptions): AsyncGenerator<Uint8Array, void, undefined>;
  decryptSegments(source: ByteSource, options: DecryptSegmentsOptions): AsyncGenerator<Uint8Array, void, undefined>;
}

/**
 * Encrypts a plaintext of any length to the segments of a body (Crypt4GH § 3.4.2), in constant memory; each yield is one whole segment.
 * An empty plaintext becomes an empty body.
 *
 * @throws RangeError when the key is not 32 bytes; TypeError for what is no source.
 */
export async function* encryptSegments(
  source: ByteSource,
  options: EncryptSegmentsOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { random = systemRandom } = options;
  expectByteSource(source);
  const dataKey = prepareDataKey(options.dataKey);
  const cutter = new PieceCutter(SEGMENT_BYTES);
  for await (const chunk of source) {
    for (const piece of cutter.push(chunk)) yield seal(piece, dataKey, random(nonceBytes));
  }
  const rest = cutter.rest();
  if (rest.length > 0) yield seal(rest, dataKey, random(nonceBytes));
}

/**
 * Decrypts a body to the plaintext that the edit list leaves (Crypt4GH § 4.1, § 4.2), in constant memory. Bytes are given
 * out only after their whole segment has authenticated. Segments that the edit list skips whole are not decrypted, and
 * after its last keep the source is closed.
 *
 * The format does not show segments that are missing at the end, moved or repeated (Crypt4GH § 1.1, § 5.4). With
 * `expectedSize` a body of another length is an error; moved and repeated segments need a checksum from elsewhere.
 *
 * @param source the body, from its first byte.
 * @throws DamagedBodyError; RangeError when there is no key, one is not 32 bytes, the size is no size, or a length in the
 * edit list is negative; TypeError for what is no source.
 */
export async function* decryptSegments(
  source: ByteSource,
  options: DecryptSegmentsOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  expectByteSource(source);
  const decryptor = new SegmentDecryptor(options.dataKeys);
  const plan = new BodyPlan(options);
  const cutter = new PieceCutter(ENCRYPTED_SEGMENT_BYTES);
  for await (const chunk of source) {
    for (const segment of cutter.push(chunk)) yield* decryptPlanned(segment, plan, decryptor);
    if (plan.finished) return;
  }
  const rest = cutter.rest();
  if (rest.length > 0) yield* decryptPlanned(rest, plan, decryptor);
  plan.end();
}

function* decryptPlanned(segment: Buffer, plan: BodyPlan, decryptor: SegmentDecryptor) {
  const planned = plan.next(segment.length);
  if (planned === undefined) return;
  const plaintext = decryptor.open(segment, planned.index);
  for (const { from, to } of planned.slices) if (to > from) yield plaintext.subarray(from, to);
}
