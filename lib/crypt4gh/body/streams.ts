import type { Duplex } from 'node:stream';
import type { ByteSource } from '../bytes.ts';
import { type DecryptOptions, decrypt, type EncryptOptions, encrypt } from './container.ts';
import { ThroughDuplex } from './through-duplex.ts';

/** The two ends of a Web stream, for `pipeThrough`. */
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

/** Reads the input only when output is asked for. */
function webPair(through: Through): ByteStreamPair {
  /** Ends the input with a reason for the writer. After the end of the input it has no effect. */
  let stopInput: (reason: unknown) => void = () => undefined;
  const input = new TransformStream<Uint8Array, Uint8Array>({
    start(controller) {
      stopInput = (reason) => controller.error(reason);
    },
  });
  // If the iterator cancelled the input, the writer would not learn the reason.
  const output = through(input.readable.values({ preventCancel: true }));
  const readable = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await output.next();
          if (done !== true) {
            controller.enqueue(value);
            return;
          }
          controller.close();
          // An edit list may end before the input, as other streams do (Streams Standard, TransformStream).
          stopInput(new TypeError('the rest of the input is not needed'));
        } catch (error) {
          stopInput(error);
          throw error;
        }
      },
      async cancel(reason) {
        // The input first: a pending read of it would keep the generator from returning.
        stopInput(reason);
        await output.return(undefined).catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return { readable, writable: input.writable };
}
