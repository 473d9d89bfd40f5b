import { type ByteSource, expectByteSource, type Random, systemRandom } from '../bytes.ts';
import { giveBack, seal } from '../sealed.ts';
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
  /**
   * Whether a chunk is valid only until the next one is asked for: its memory is then used again or given back, which saves
   * memory and time. A chunk may hold several segments then. Default: false, the chunks belong to the caller.
   */
  readonly reuseMemory?: boolean;
}

/** Options of {@link decryptSegments} (Crypt4GH § 4.1, § 4.2). */
export interface DecryptSegmentsOptions {
  /** 32 bytes each; for each segment the last key that fitted is tried first. */
  readonly dataKeys: readonly Uint8Array[];
  /** Edit list: bytes to skip and keep in turn. Default: everything is kept. */
  readonly editList?: readonly bigint[] | undefined;
  /**
   * Bytes of the plaintext before the edit list, known from elsewhere. Default: not checked. Bytes after the last keep of the
   * edit list are not read, so they are not checked either.
   */
  readonly expectedSize?: number | undefined;
  /**
   * Whether a chunk is valid only until the next one is asked for: its memory is then used again or given back, which saves
   * memory and time. Default: false, the chunks belong to the caller.
   */
  readonly reuseMemory?: boolean;
}

/**
 * Encrypts and decrypts bodies (Crypt4GH § 3.4.2, § 4.1): these functions on the calling thread, `SegmentWorkers` on others.
 */
export interface SegmentCipher {
  encryptSegments(source: ByteSource, options: EncryptSegmentsOptions): AsyncGenerator<Uint8Array, void, undefined>;
  decryptSegments(source: ByteSource, options: DecryptSegmentsOptions): AsyncGenerator<Uint8Array, void, undefined>;
}

/**
 * Encrypts a plaintext of any length to the segments of a body (Crypt4GH § 3.4.2), in constant memory. Each yield is one whole
 * segment, unless `reuseMemory` is set. An empty plaintext has an empty body.
 */
export async function* encryptSegments(
  source: ByteSource,
  options: EncryptSegmentsOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { random = systemRandom, reuseMemory = false } = options;
  expectByteSource(source);
  const dataKey = prepareDataKey(options.dataKey);
  const cutter = new PieceCutter(SEGMENT_BYTES);
  for await (const chunk of source) {
    for (const piece of cutter.push(chunk)) {
      const segment = seal(piece, dataKey, random(nonceBytes));
      yield segment;
      if (reuseMemory) giveBack(segment);
    }
  }
  const rest = cutter.rest();
  if (rest.length > 0) yield seal(rest, dataKey, random(nonceBytes));
}

/**
 * Decrypts a body to the plaintext after the edit list (Crypt4GH § 4.1, § 4.2), in constant memory. Bytes are given out only
 * after their whole segment has authenticated. A segment that the edit list skips whole is not decrypted. After the last keep
 * the source is closed.
 *
 * The format does not show segments that are missing at the end, moved or repeated (Crypt4GH § 1.1, § 5.4). With
 * `expectedSize`, a body of another length is an error. To find moved and repeated segments, compare a checksum of the file.
 */
export async function* decryptSegments(
  source: ByteSource,
  options: DecryptSegmentsOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  expectByteSource(source);
  const decryptor = new SegmentDecryptor(options.dataKeys);
  const plan = new BodyPlan(options);
  const cutter = new PieceCutter(ENCRYPTED_SEGMENT_BYTES);
  function* plaintextOf(segment: Buffer) {
    const planned = plan.next(segment.length);
    if (planned === undefined) return;
    const plaintext = decryptor.open(segment, planned.index);
    for (const { from, to } of planned.slices) if (to > from) yield plaintext.subarray(from, to);
    if (options.reuseMemory) giveBack(plaintext);
  }
  for await (const chunk of source) {
    for (const segment of cutter.push(chunk)) yield* plaintextOf(segment);
    if (plan.finished) return;
  }
  const rest = cutter.rest();
  if (rest.length > 0) yield* plaintextOf(rest);
  plan.end();
}
