import { Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Server } from 'node:net';
import { startFauxqs } from 'fauxqs';

/**
 * Entry point of the process that holds the embedded SQS engine. The engine listens on all interfaces and checks no
 * credentials. This file corrects both for everything in the process. So the engine has its own process.
 */

/** Sent by the parent as JSON in a variable, because every user of the machine can read arguments. */
export interface QueueServerOptions {
  readonly region: string;
  /** A request must carry it. */
  readonly secret: string;
  /** Folder that keeps the queues; absent: they live in memory. */
  readonly queuesDir?: string | undefined;
}

/** Variable with the options. */
export const optionsVariable = 'DATA_OUT_SQS_ENGINE';
/** Header with the secret. */
export const secretHeader = 'x-data-out-secret';

if (import.meta.main) {
  await main(JSON.parse(process.env[optionsVariable] ?? '') as QueueServerOptions).catch((error: unknown) => {
    process.stderr.write(`the embedded SQS engine: ${String(error)}\n`);
    process.exit(1);
  });
}

async function main({ region, secret, queuesDir }: QueueServerOptions): Promise<void> {
  const listen = Server.prototype.listen as (...args: unknown[]) => Server;
  Server.prototype.listen = function (this: Server, ...args: unknown[]) {
    const [options, ...rest] = args;
    const local = typeof options === 'object' && options !== null ? { ...options, host: '127.0.0.1' } : options;
    return listen.call(this, local, ...rest);
  } as typeof Server.prototype.listen;
  const emit = HttpServer.prototype.emit as (...args: unknown[]) => boolean;
  HttpServer.prototype.emit = function (this: HttpServer, event: string, ...args: unknown[]) {
    if (event !== 'request') return emit.call(this, event, ...args);
    const [request, response] = args as [IncomingMessage, ServerResponse];
    if (request.headers[secretHeader] === secret) return emit.call(this, event, request, response);
    response.writeHead(403).end();
    return true;
  } as typeof HttpServer.prototype.emit;

  const server = await startFauxqs({
    port: 0,
    logger: false,
    defaultRegion: region,
    ...(queuesDir !== undefined && { dataDir: queuesDir }),
  });
  // A signal at the terminal reaches the whole group. The parent decides the order in which things stop.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  process.on('disconnect', () => void server.stop().then(() => process.exit(0)));
  process.send?.({ port: server.port });
}
