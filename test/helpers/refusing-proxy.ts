import { createServer } from 'node:http';
import { listenLocally } from './loopback.ts';

/** Starts a forward proxy that refuses every host. */
export async function refusingProxy(): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer().on('connect', (_request, socket) => {
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  return { url: await listenLocally(server), close: () => server.close() };
}
