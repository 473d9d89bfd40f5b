import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listen on this machine's loopback address. @param port 0: any free one. @returns base URL, without a final slash */
export async function listenLocally(server: Server, port = 0): Promise<string> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
