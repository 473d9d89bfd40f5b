import { asBuffer, type ByteSource, expectByteSource, expectSome, type Random, systemRandom, wipe } from '../bytes.ts';
import { MalformedHeaderError } from '../errors.ts';
import { encryptHeader } from '../header/encrypt-header.ts';
import { HeaderScanner } from '../header/header.ts';
import { openHeader } from '../header/open-header.ts';
import { dataKeyBytes } from '../sizes.ts';
import { decryptSegments, encryptSegments, type SegmentCipher } from './segments.ts';

/**
 * The header and the body of a container (Crypt4GH § 2.2). `body` reads on from the same source; call its `return` if it is
 * not read to its end.
 */
export interface SplitContainer {
  readonly header: Uint8Array;
  readonly body: AsyncIterableIterator<Uint8Array, void, undefined>;
}

/** Options of {@link encrypt}. */
export interface EncryptOptions {
  /** Raw public keys, as from `parsePublicKey`. */
  readonly recipients: readonly Uint8Array[];
  /** Edit list: bytes to skip and keep in turn when the container is read. Default: none, the whole plaintext is kept. */
  readonly editList?: readonly bigint[] | undefined;
  /** Raw private key of the writer, which recipients can check with `sender`. Default: a new key, which proves nothing. */
  readonly senderKey?: Uint8Array | undefined;
  /** Default: the system's. */
  readonly random?: Random;
  /** Threads that encrypt the body, from `SegmentWorkers`. Default: the calling thread. The container is the same. */
  readonly workers?: SegmentCipher;
  /** As in {@link EncryptSegmentsOptions}. */
  readonly reuseMemory?: boolean;
}

/** Options of {@link decrypt}. */
export interface DecryptOptions {
  /** Raw private keys; the first key that opens a header packet is the reader's. */
  readonly privateKeys: readonly Uint8Array[];
  /** Raw public key of the writer whose header packets are accepted. Default: any writer's. */
  readonly sender?: Uint8Array;
  /**
   * Bytes of the plaintext before the edit list, known from elsewhere. A body of another length is an error then. Default: not
   * checked, so a file that was cut between two segments passes for whole.
   */
  readonly expectedSize?: number | undefined;
  /** Threads that decrypt the body, from `SegmentWorkers`. Default: the calling thread. */
  readonly workers?: SegmentCipher;
  /** As in {@link DecryptSegmentsOptions}. */
  readonly reuseMemory?: boolean;
}

const oneThread: SegmentCipher = { encryptSegments, decryptSegments };

/**
 * Encrypts a plaintext to a whole container (Crypt4GH § 2), in constant memory: first the header, then segments. The data key
 * is new and leaves this function only inside the header.
 */
export async function* encrypt(
  source: ByteSource,
  options: EncryptOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { recipients, editList, senderKey, random = systemRandom, workers = oneThread, reuseMemory = false } = options;
  expectByteSource(source);
  const dataKey = random(dataKeyBytes);
  try {
    yield encryptHeader({ dataKeys: [dataKey], editList, recipients, senderKey, random });
    yield* workers.encryptSegments(source, { dataKey, random, reuseMemory });
  } finally {
    wipe(dataKey);
  }
}

/**
 * Decrypts a whole container (Crypt4GH § 2) with the first of `privateKeys` that fits, and applies the edit list. Memory is
 * constant; a header has at most 16 MiB.
 */
export async function* decrypt(
  source: ByteSource,
  options: DecryptOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { privateKeys, expectedSize, workers = oneThread, reuseMemory = false, ...headerOptions } = options;
  const { header, body } = await splitContainer(source);
  let dataKeys: readonly Uint8Array[] = [];
  try {
    expectSome(privateKeys, 'private key');
    const opened = openHeader(header, privateKeys, headerOptions);
    dataKeys = opened.dataKeys;
    yield* workers.decryptSegments(body, { dataKeys, editList: opened.editList, expectedSize, reuseMemory });
  } finally {
    wipe(...dataKeys);
    await body.return?.();
  }
}

/**
 * Parts the header of a container from its body, by the framing alone (Crypt4GH § 2.2). It needs no key and decrypts nothing.
 */
export async function splitContainer(source: ByteSource): Promise<SplitContainer> {
  expectByteSource(source);
  const iterator = iteratorOf(source);
  try {
    const scanner = new HeaderScanner();
    let bytes: Buffer = Buffer.alloc(0);
    let filled = 0;
    for (;;) {
      const length = scanner.scan(bytes.subarray(0, filled));
      if (length !== undefined) {
        const rest = bytes.subarray(length, filled);
        return { header: Uint8Array.from(bytes.subarray(0, length)), body: continued(rest, iterator) };
      }
      // A source may use the memory of its chunk again, so the first chunk is copied before the next one is asked for.
      if (filled === bytes.length) bytes = grown(bytes, filled, filled);
      const { done, value } = await iterator.next();
      if (done === true) throw new MalformedHeaderError('truncated-header', 'the input ends inside the header');
      if (filled === 0) {
        // The first chunk mostly holds the whole header, and is not copied. It is full, so it is not written to.
        bytes = asBuffer(value);
        filled = bytes.length;
        continue;
      }
      if (filled + value.length > bytes.length) bytes = grown(bytes, filled, filled + value.length);
      filled += asBuffer(value).copy(bytes, filled);
    }
  } catch (error) {
    await iterator.return?.();
    throw error;
  }
}

/** Doubles the memory, so that a header that comes byte by byte is copied only a few times. */
function grown(bytes: Buffer, filled: number, needed: number): Buffer {
  const larger = Buffer.alloc(Math.max(needed, 2 * bytes.length));
  bytes.copy(larger, 0, 0, filled);
  return larger;
}

type ByteIterator = Pick<AsyncIterator<Uint8Array>, 'next' | 'return'>;

function iteratorOf(source: ByteSource): ByteIterator {
  if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]();
  const iterator = source[Symbol.iterator]();
  return {
    next: async () => iterator.next(),
    return: async () => iterator.return?.() ?? { done: true, value: undefined },
  };
}

/** `rest`, then the bytes left in the iterator. Not a generator: `return` must close the source even before `next`. */
function continued(rest: Buffer, iterator: ByteIterator): AsyncIterableIterator<Uint8Array, void, undefined> {
  let pending: Buffer | undefined = rest.length > 0 ? rest : undefined;
  return {
    async next() {
      if (pending !== undefined) {
        const value = pending;
        pending = undefined;
        return { done: false, value };
      }
      const { done, value } = await iterator.next();
      return done === true ? { done, value: undefined } : { done: false, value };
    },
    async return() {
      pending = undefined;
      await iterator.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
