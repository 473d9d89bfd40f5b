import { createServer, type Server } from 'node:net';
import { EngineError, isCode } from './errors.ts';

/**
 * Listen on this machine's loopback address.
 *
 * @param ports tried in this order; 0 is any free one.
 * @returns the port
 * @throws EngineError when all of them are taken, or one cannot be used.
 */
export async function listen(server: Server, ports: readonly number[]): Promise<number> {
  for (const port of ports) {
    const bound = await new Promise<number | undefined>((resolve, reject) => {
      const failed = (error: Error) => {
        if (isCode(error, 'EADDRINUSE')) resolve(undefined);
        else reject(new EngineError(`port ${port} cannot be used: ${error.message}`, { cause: error }));
      };
      server.once('error', failed);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', failed);
        const address = server.address();
        resolve(typeof address === 'object' && address ? address.port : port);
      });
    });
    if (bound !== undefined) return bound;
  }
  throw new EngineError(`port ${ports.join(', ')} is taken; choose another one with --port`);
}

/** The first of these ports that is free now. Parameter and errors as of `listen`. */
export async function freePort(ports: readonly number[]): Promise<number> {
  const server = createServer();
  const port = await listen(server, ports);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
