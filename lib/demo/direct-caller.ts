import * as z from 'zod';
import type { Connection } from '../contract/connection.ts';
import { expectThat } from './steps.ts';

const datasets = z.array(z.string());
const files = z.array(
  z.object({
    fileId: z.string(),
    fileName: z.string(),
    decryptedFileSize: z.number().nullable(),
    decryptedFileChecksum: z.string().nullable(),
  }),
);
const problem = z.object({ code: z.string(), requestId: z.string() }).loose();

/** A file of a dataset, as the data-out API lists it. */
export type DatasetFile = z.infer<typeof files>[number];

/** A reply that was refused: the document without the request id, as one text. */
export interface Refusal {
  readonly status: number;
  readonly challenge: string | null;
  readonly problem: string;
}

/** The data-out API as a researcher's program uses it: over HTTP, with a visa and nothing else. */
export class DirectCaller {
  readonly #connection: Connection;
  readonly #signal: AbortSignal;

  constructor(connection: Connection, signal: AbortSignal) {
    this.#connection = connection;
    this.#signal = signal;
  }

  /** `GET /metadata/datasets`. */
  async datasets(visa: string): Promise<readonly string[]> {
    return datasets.parse(await this.#json('metadata/datasets', visa));
  }

  /** `GET /metadata/datasets/{datasetId}/files`. */
  async filesOf(datasetId: string, visa: string): Promise<readonly DatasetFile[]> {
    return files.parse(await this.#json(`metadata/datasets/${encodeURIComponent(datasetId)}/files`, visa));
  }

  /** `GET /files/{fileId}`: the plaintext, or bytes [start, end) of it. */
  async plaintext(fileId: string, visa: string, range?: { start: number; end: number }): Promise<Response> {
    const headers = range && { Range: `bytes=${range.start}-${range.end - 1}` };
    const response = await this.#fetch(`files/${fileId}`, visa, { ...(headers && { headers }) });
    expectThat(response.status === (range ? 206 : 200), `the file was answered with ${response.status}`);
    return response;
  }

  /** `GET /files/{fileId}?destinationFormat=CRYPT4GH`. A redirect is followed by hand, so that the visa stays here. */
  async container(fileId: string, visa: string, publicKey: Uint8Array) {
    const response = await this.#fetch(`files/${fileId}?destinationFormat=CRYPT4GH`, visa, {
      headers: { 'Public-Key': Buffer.from(publicKey).toString('base64') },
      redirect: 'manual',
    });
    const location = response.headers.get('location');
    const redirected = response.status === 307 && location !== null;
    if (redirected) await response.body?.cancel();
    const found = redirected ? await fetch(location, { signal: this.#signal }) : response;
    expectThat(found.status === 200 && found.body !== null, `the container was answered with ${found.status}`);
    return { body: found.body, redirected };
  }

  /** A request that must be refused. */
  async refused(path: string, visa: string | undefined): Promise<Refusal> {
    const response = await this.#fetch(path, visa);
    const text = await response.text();
    expectThat(response.status >= 400, `${path} was answered with ${response.status}`);
    const { requestId, ...rest } = problem.parse(JSON.parse(text));
    return {
      status: response.status,
      challenge: response.headers.get('www-authenticate'),
      problem: JSON.stringify(rest),
    };
  }

  async #json(path: string, visa: string): Promise<unknown> {
    const response = await this.#fetch(path, visa);
    const text = await response.text();
    expectThat(response.status === 200, `${path} was answered with ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  #fetch(path: string, visa: string | undefined, init: RequestInit = {}): Promise<Response> {
    const base = this.#connection.dataOutUrl.replace(/\/?$/, '/');
    const headers = { ...(visa !== undefined && { Authorization: `Bearer ${visa}` }), ...init.headers };
    return fetch(new URL(path, base), { ...init, headers, signal: this.#signal });
  }
}
