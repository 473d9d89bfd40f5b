import { asBuffer, type ByteSource, type Random, systemRandom, wipe } from './bytes.ts';
import { encryptHeader } from './encrypt-header.ts';
import { MalformedHeaderError } from './errors.ts';
import { HeaderScanner } from './header.ts';
import { openHeader } from './open-header.ts';
import { decryptSegments, encryptSegments } from './segments.ts';

/** A container taken apart. `body` reads on from the same source; close it (`return`) when it is not read to its end. */
export interface SplitContainer {
  readonly header: Uint8Array;
  readonly body: AsyncIterableIterator<Uint8Array, void, undefined>;
}

/**
 * Encrypts a plaintext to a whole container: first the header, then segments, in constant memory. The data key is new
 * and leaves this function only inside the header.
 *
 * @throws UnusableKeyError `weak-public-key`; RangeError for a wrong argument.
 */
export async function* encrypt(
  source: ByteSource,
  options: {
    readonly recipients: readonly Uint8Array[];
    readonly editList?: readonly bigint[] | undefined;
    readonly random?: Random;
  },
): AsyncGenerator<Uint8Array, void, undefined> {
  const { recipients, editList, random = systemRandom } = options;
  const dataKey = random(32);
  try {
    yield encryptHeader({ dataKeys: [dataKey], editList, recipients, random });
    yield* encryptSegments(source, { dataKey, random });
  } finally {
    wipe(dataKey);
  }
}

/**
 * Decrypts a whole container for the first of `privateKeys` that fits, edit list applied, in constant memory (a header
 * is at most 16 MiB).
 *
 * @param options.sender raw public key: accept only this writer's header packets.
 * @param options.expectedSize bytes of the plaintext before the edit list, known from elsewhere: a body of another length
 * is then an error. Default: not checked, and a file cut between two segments passes for whole.
 * @throws MalformedHeaderError, NoMatchingKeyError, DamagedBodyError; RangeError for a wrong argument.
 */
export async function* decrypt(
  source: ByteSource,
  options: {
    readonly privateKeys: readonly Uint8Array[];
    readonly sender?: Uint8Array;
    readonly expectedSize?: number | undefined;
  },
): AsyncGenerator<Uint8Array, void, undefined> {
  const { privateKeys, expectedSize, ...headerOptions } = options;
  const { header, body } = await splitContainer(source);
  let dataKeys: readonly Uint8Array[] = [];
  try {
    const opened = openHeader(header, privateKeys, headerOptions);
    dataKeys = opened.dataKeys;
    yield* decryptSegments(body, { dataKeys, editList: opened.editList, expectedSize });
  } finally {
    wipe(...dataKeys);
    await body.return?.();
  }
}

/**
 * Reads the header off a container, by its framing alone: no key is needed and nothing is decrypted.
 *
 * @throws MalformedHeaderError; the source is closed then.
 */
export async function splitContainer(source: ByteSource): Promise<SplitContainer> {
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
      const { done, value } = await iterator.next();
      if (done === true) throw new MalformedHeaderError('truncated-header', 'the input ends inside the header');
      if (filled === 0) {
        // Mostly the first chunk holds the whole header: no copy then. It has no room left to be written to.
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

/** Doubles, so that a header that comes byte by byte is not copied once a byte. */
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

/** `rest`, then what the iterator still has. Not a generator: its `return` must close the source even before `next`. */
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
