import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

/** Memory that a connection reads into, one slab after the other. */
const SLAB_BYTES = 1024 * 1024;
/** When less than this is left of a slab, the next one begins. */
const LEAST_READ_BYTES = 256 * 1024;

/**
 * Makes connections that read up to a MiB at once, where Node.js reads 64 KiB each into memory of its own: of a large
 * transfer that is most of the work.
 */
export function largeReads(options: buildConnector.BuildOptions): buildConnector.connector {
  return (target, callback) => {
    let socket: Socket | undefined;
    let rest: Buffer = Buffer.allocUnsafeSlow(0);
    const onread = {
      buffer: () => {
        if (rest.length < LEAST_READ_BYTES) rest = Buffer.allocUnsafeSlow(SLAB_BYTES);
        return rest;
      },
      callback: (bytes: number, buffer: Buffer) => {
        rest = buffer.subarray(bytes);
        // False stops the reading until the consumer has caught up, as with any other socket.
        return socket?.push(buffer.subarray(0, bytes)) ?? false;
      },
    };
    // What this returns is the socket; only its declaration does not say so.
    socket = buildConnector({ ...options, onread } as buildConnector.BuildOptions)(
      target,
      callback,
    ) as unknown as Socket;
  };
}
