import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import { ReadMemory } from './read-memory.ts';

/**
 * Makes connections that read up to 1 MiB at once. By default Node.js reads 64 KiB at once, each time into new memory; in a
 * large transfer that is most of the work.
 */
export function largeReads(options: buildConnector.BuildOptions): buildConnector.connector {
  return (target, callback) => {
    let socket: Socket | undefined;
    const memory = new ReadMemory();
    const onread = {
      buffer: () => memory.next(),
      // False pauses the socket until the consumer has caught up.
      callback: (bytes: number) => socket?.push(memory.read(bytes)) ?? false,
    };
    // The connector returns the socket, although its declaration does not say so.
    socket = buildConnector({ ...options, onread } as buildConnector.BuildOptions)(
      target,
      callback,
    ) as unknown as Socket;
  };
}
