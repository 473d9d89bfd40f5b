import * as z from 'zod';
import type { Connection } from '../../lib/contract/connection.ts';
import { basic } from './http-request.ts';

const accepted = z.object({ message: z.string(), requestId: z.uuid() });
const listing = z.object({
  statusCode: z.literal(200),
  files: z.array(z.object({ fileName: z.string(), size: z.number(), expiryDate: z.string().nullish() })),
});
type ListedFile = z.infer<typeof listing>['files'][number];

/** The delivery API as its callers use it: over HTTP, with their own credentials. */
export class ProxyCaller {
  readonly #connection: Connection;
  readonly #signal: AbortSignal;

  constructor(connection: Connection, signal: AbortSignal) {
    this.#connection = connection;
    this.#signal = signal;
  }

  /** As an administrator: `POST /export/fega`. @returns the request id */
  async exportDataset(order: { datasetId: string; visa: string; publicKey: string }): Promise<string> {
    const { username, password } = this.#connection.admin;
    const response = await this.#fetch('export/fega', {
      method: 'POST',
      headers: { Authorization: basic(username, password), 'Content-Type': 'application/json' },
      body: JSON.stringify({
        id: order.datasetId,
        type: 'datasetId',
        visaToken: order.visa,
        userPublicKey: order.publicKey,
      }),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`the proxy answered ${response.status}: ${text}`);
    return accepted.parse(JSON.parse(text)).requestId;
  }

  /** As a researcher: `GET /files?inbox=false`. */
  async listOutbox(visa: string): Promise<readonly ListedFile[]> {
    const response = await this.#fetch('files?inbox=false', { headers: this.#researcher(visa) });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`the listing was answered with ${response.status}: ${text}`);
    return listing.parse(JSON.parse(text)).files;
  }

  /**
   * As a researcher: `GET /stream/{file}`. The redirect is followed by hand, so that visa and password stay here: S3
   * gets the presigned URL and nothing else.
   */
  async stream(visa: string, fileName: string): Promise<ReadableStream<Uint8Array>> {
    const path = `stream/${encodeURIComponent(fileName)}`;
    const redirect = await this.#fetch(path, { headers: this.#researcher(visa), redirect: 'manual' });
    await redirect.body?.cancel();
    const location = redirect.headers.get('location');
    if (redirect.status !== 307 || location === null) throw new Error(`expected a redirect, got ${redirect.status}`);
    const response = await fetch(location, { signal: this.#signal });
    if (response.status !== 200 || response.body === null) throw new Error(`S3 answered ${response.status}`);
    return response.body;
  }

  #researcher(visa: string) {
    const { username, password } = this.#connection.archiveUser;
    return { Authorization: basic(username, password), 'X-GA4GH-Visa': visa };
  }

  #fetch(path: string, init: RequestInit): Promise<Response> {
    const base = this.#connection.proxyUrl.replace(/\/?$/, '/');
    return fetch(new URL(path, base), { ...init, signal: this.#signal });
  }
}
