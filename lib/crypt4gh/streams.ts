import type { Duplex } from 'node:stream';
import type { ByteSource } from './bytes.ts';
import { type DecryptOptions, decrypt, type EncryptOptions, encrypt } from './container.ts';
import { ThroughDuplex } from './through-duplex.ts';

/** Two ends of a Web stream, as `pipeThrough` takes them. */
export interface ByteStreamPair {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

/** {@link encrypt} as a Web stream: plaintext in, container out. */
export function encryptionStream(options: EncryptOptions): ByteStreamPair {
  return webPair((source) => encrypt(source, options));
}

/** {@link decrypt} as a Web stream: container in, plaintext out. */
export function decryptionStream(options: DecryptOptions): ByteStreamPair {
  return webPair((source) => decrypt(source, options));
}

/** {@link encrypt} as a Node stream for `pipeline`: plaintext in, container out. */
export function encryptionDuplex(options: EncryptOptions): Duplex {
  return new ThroughDuplex((source) => encrypt(source, options));
}

/** {@link decrypt} as a Node stream for `pipeline`: container in, plaintext out. */
export function decryptionDuplex(options: DecryptOptions): Duplex {
  return new ThroughDuplex((source) => decrypt(source, options));
}

type Through = (source: ByteSource) => AsyncGenerator<Uint8Array>;

/** The output pulls: nothing is read of the input before it is asked for. */
function webPair(through: Through): ByteStreamPair {
  let stopInput: (reason: unknown) => void = () => undefined;
  const input = new TransformStream<Uint8Array, Uint8Array>({
    start(controller) {
      stopInput = (reason) => controller.error(reason);
    },
  });
  const output = through(untilGivenUp(input.readable));
  const readable = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await output.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel(reason) {
        // First the input: a read of it that is under way would keep the generator from returning.
        stopInput(reason);
        await output.return(undefined).catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return { readable, writable: input.writable };
}

/**
 * The chunks of a stream. Who stops early, where an edit list ends, tells the writer why: as other streams that end before
 * their input does, with a TypeError (Streams Standard, TransformStream).
 */
async function* untilGivenUp(input: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = input.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel(new TypeError('the rest of the input is not needed')).catch(() => undefined);
  }
}
