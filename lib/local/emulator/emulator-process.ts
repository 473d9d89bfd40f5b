import { Server } from 'node:net';
import { startFauxqs } from 'fauxqs';

/**
 * Entry point of the process that holds the embedded S3 and SQS engine. A process of its own, because the engine hashes
 * and joins whole parts synchronously, and because two of its habits are corrected here for everything in the process:
 * it listens on all interfaces, though it checks no credentials; and it sorts keys by the language of the machine, where
 * S3 sorts by their bytes (and its own continuation tokens assume that).
 */
const listen = Server.prototype.listen as (...args: unknown[]) => Server;
Server.prototype.listen = function (this: Server, ...args: unknown[]) {
  const [options, ...rest] = args;
  const local = typeof options === 'object' && options !== null ? { ...options, host: '127.0.0.1' } : options;
  return listen.call(this, local, ...rest);
} as typeof Server.prototype.listen;
String.prototype.localeCompare = function (this: string, other: string) {
  const [left, right] = [Buffer.from(String(this)), Buffer.from(other)];
  return Buffer.compare(left, right);
};

/** Sent by the parent as JSON in the first argument. */
interface EmulatorOptions {
  readonly region: string;
  /** Folders that keep queues and objects; absent: both live in memory. */
  readonly queuesDir?: string;
  readonly objectsDir?: string;
}

const { region, queuesDir, objectsDir } = JSON.parse(process.argv[2] ?? '{}') as EmulatorOptions;
const server = await startFauxqs({
  port: 0,
  logger: false,
  defaultRegion: region,
  ...(queuesDir === undefined ? {} : { dataDir: queuesDir }),
  ...(objectsDir === undefined ? {} : { s3StorageDir: objectsDir }),
});

const stop = async () => {
  await server.stop();
  process.exit(0);
};
// A signal at the terminal reaches the whole group; the parent decides the order in which things stop.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
process.on('disconnect', () => void stop());
process.send?.({ port: server.port });
