import { authorized, type ServiceConnection } from '../../client/api/connection.ts';
import type { TransportReply } from '../../client/api/transport.ts';

/** A file of a dataset, as far as the suite looks at it. */
interface DatasetFile {
  readonly fileId: string;
  readonly decryptedFileSize: number | null;
  readonly decryptedFileChecksum: string | null;
}

/** A program that reads the data-out API with a visa, as docs/api.md describes it. The command-line client never does. */
export class DirectReader {
  readonly #url: string;
  readonly #connection: ServiceConnection;
  readonly #signal: AbortSignal;

  /** @param url base URL of the data-out API @param connection with the visa */
  constructor(url: string, connection: ServiceConnection, signal: AbortSignal) {
    this.#url = url.replace(/\/?$/, '/');
    this.#connection = connection;
    this.#signal = signal;
  }

  /** Ids of the datasets that the visa grants. */
  async datasets(): Promise<readonly string[]> {
    return JSON.parse(await (await this.get('metadata/datasets')).text());
  }

  async files(datasetId: string): Promise<readonly DatasetFile[]> {
    return JSON.parse(await (await this.get(`metadata/datasets/${encodeURIComponent(datasetId)}/files`)).text());
  }

  /**
   * A container for a key: from the service, or from the address in storage that it gives.
   * @param publicKey 32 bytes
   */
  async container(
    fileId: string,
    publicKey: Uint8Array,
  ): Promise<{ readonly by: 'service' | 'storage'; readonly reply: TransportReply }> {
    const path = `files/${encodeURIComponent(fileId)}?destinationFormat=CRYPT4GH&redirect=false`;
    const reply = await this.get(path, { 'public-key': Buffer.from(publicKey).toString('base64') });
    if (!reply.header('content-type')?.startsWith('application/json')) return { by: 'service', reply };
    const { url } = JSON.parse(await reply.text()) as { url: string };
    const stored = await this.#connection.transport.send({ url: new URL(url), signal: this.#signal });
    return { by: 'storage', reply: stored };
  }

  /** Sends one request, and repeats it as the transport's policy says. @param path relative to the API */
  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<TransportReply> {
    return await authorized(this.#connection, {
      what: path,
      needsVisa: true,
      request: { url: new URL(path, this.#url), headers, signal: this.#signal },
      credentials: ({ visa }) => ({ headers: { authorization: `Bearer ${visa}` } }),
    });
  }
}
