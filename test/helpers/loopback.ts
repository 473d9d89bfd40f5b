import type { Server } from 'node:http';
import { listen } from '../../lib/local/http.ts';

/** Listen on this machine's loopback address. @param port 0: any free one. @returns base URL, without a final slash */
export async function listenLocally(server: Server, port = 0): Promise<string> {
  return `http://127.0.0.1:${await listen(server, [port])}`;
}
