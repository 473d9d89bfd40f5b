import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../lib/client/api/connection.ts';
import { DeliveryApi } from '../../lib/client/api/delivery-api.ts';
import type { DownloadEvent } from '../../lib/client/api/download/download-file.ts';
import {
  type DownloadFilesOptions,
  type DownloadReport,
  downloadFiles,
} from '../../lib/client/api/download/download-files.ts';
import { Transport, type TransportSettings } from '../../lib/client/api/transport.ts';
import { systemTiming } from '../../lib/common/timing.ts';
import { FaultProxy } from './fault-proxy.ts';
import { OutboxServer } from './outbox-server.ts';

/** A folder, an outbox and faults between the two. Pauses are noted and not waited for. */
export class DownloadWorld {
  readonly server: OutboxServer;
  readonly faults: FaultProxy;
  readonly folder: string;
  readonly events: DownloadEvent[] = [];
  readonly pauses: number[] = [];
  readonly #transports: Transport[] = [];
  visa = 'good-visa';

  private constructor(server: OutboxServer, faults: FaultProxy, folder: string) {
    this.server = server;
    this.faults = faults;
    this.folder = folder;
  }

  static async start(): Promise<DownloadWorld> {
    const server = await OutboxServer.start();
    const faults = await FaultProxy.start(server.url);
    return new DownloadWorld(server, faults, await mkdtemp(join(tmpdir(), 'data-out-download-')));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#transports.map((transport) => transport.close()));
    await this.faults.stop();
    await this.server.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  proxy(settings: Partial<TransportSettings> = {}): DeliveryApi {
    const transport = new Transport({
      userAgent: 'test',
      stallMs: 1_000,
      timing: {
        ...systemTiming,
        random: () => 0.5,
        sleep: async (milliseconds, signal) => {
          this.pauses.push(milliseconds);
          signal?.throwIfAborted();
        },
      },
      ...settings,
    });
    this.#transports.push(transport);
    const basic = async () => ({ username: 'user', password: 'good-password' });
    return new DeliveryApi(connect({ proxyUrl: this.faults.url, visa: async () => this.visa, basic, transport }));
  }

  /** Everything that is listed, unless told otherwise. */
  async download(options: Partial<DownloadFilesOptions> & Partial<TransportSettings> = {}): Promise<DownloadReport> {
    const { stallMs, retries, ...rest } = options;
    const proxy = this.proxy({ ...(stallMs && { stallMs }), ...(retries && { retries }) });
    return await downloadFiles({
      proxy,
      files: rest.files ?? (await all(proxy.list())),
      folder: this.folder,
      parallel: 3,
      pieceBytes: 128 * 1024,
      force: false,
      onEvent: (event) => this.events.push(event),
      ...rest,
    });
  }

  read(name: string): Promise<Buffer> {
    return readFile(join(this.folder, name));
  }

  /** Bytes that storage has sent since the last `faults.reset()`. */
  get storageBytes(): number {
    return this.faults.requests.filter(({ on }) => on === 'storage').reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Forgets files, events and requests of what was before. */
  async clear(): Promise<void> {
    for (const name of await readdir(this.folder)) await rm(join(this.folder, name), { recursive: true });
    this.server.clear();
    this.faults.reset();
    this.events.length = 0;
    this.pauses.length = 0;
    this.visa = 'good-visa';
  }

  async names(): Promise<readonly string[]> {
    return (await readdir(this.folder)).sort();
  }
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
