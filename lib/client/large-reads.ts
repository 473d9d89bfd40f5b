import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import { ReadMemory } from './read-memory.ts';

/**
 * Makes connections that read up to a MiB at once, where Node.js reads 64 KiB each into memory of its own: of a large
 * transfer that is most of the work.
 */
export function largeReads(options: buildConnector.BuildOptions): buildConnector.connector {
  return (target, callback) => {
    let socket: Socket | undefined;
    const memory = new ReadMemory();
    const onread = {
      buffer: () => memory.next(),
      // False stops the reading until the consumer has caught up, as with any other socket.
      callback: (bytes: number) => socket?.push(memory.read(bytes)) ?? false,
    };
    // What this returns is the socket; only its declaration does not say so.
    socket = buildConnector({ ...options, onread } as buildConnector.BuildOptions)(
      target,
      callback,
    ) as unknown as Socket;
  };
}
