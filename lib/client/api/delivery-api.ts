import * as z from 'zod/mini';
import type { ListedExport } from '../../contract/export-state.ts';
import { type AuthorizedRequest, addressOf, authorized, type ServiceConnection } from './connection.ts';
import { ClientError, ServiceError, UnavailableError } from './errors.ts';
import { type ExportPage, exportPage, listedExports } from './export-page.ts';
import { isLoopback } from './forward-proxy.ts';
import { optional, parsed, readJson, text, timeIn, wholeNumber } from './json.ts';

/** A staged container, or a delivery receipt, in the caller's outbox. */
export interface ListedFile {
  /** As the service gives it. Check it before it becomes a path. */
  readonly name: string;
  /** Bytes of the container. */
  readonly size: number;
  readonly modified: Date | undefined;
  /** When the staged copy is removed. */
  readonly expires: Date | undefined;
}

/** Where storage serves a container. The URL is a secret until it expires. */
export interface Location {
  readonly url: URL;
  readonly size: number;
}

/** Body of `POST /export/{kind}`. */
export interface ExportRequest {
  readonly id: string;
  readonly type: 'datasetId' | 'fileId';
  /** The recipient's visa or passport. */
  readonly visa: string;
  /** The recipient's public key, in any form that the service takes. */
  readonly publicKey: string;
  /** Such as `fega`. */
  readonly kind: string;
}

/** Rows of one request. */
const rowsPerPage = 10_000;
/** Most bytes of a page; a row has about 300. */
const pageBytes = 64 * 1024 * 1024;

const accepted = z.object({ requestId: text });
const listed = z.object({
  fileName: text,
  size: wholeNumber,
  modifiedDate: optional(text),
  expiryDate: optional(text),
});
const listing = z.object({ files: z.array(listed) });
const locationReply = z.object({ url: text, size: wholeNumber });

interface Stoppable {
  readonly signal?: AbortSignal | undefined;
}

/** The delivery API: administrators ask for exports, researchers read their outbox. */
export class DeliveryApi {
  readonly connection: ServiceConnection;
  readonly #url: URL;

  /** @throws ClientError `usage` if the connection has no address of a delivery API */
  constructor(connection: ServiceConnection) {
    this.connection = connection;
    this.#url = addressOf(connection);
  }

  /**
   * Every container and delivery receipt in the outbox, in name order, page by page.
   * @param perPage rows that are asked for at once
   * @throws ClientError
   */
  async *list({
    perPage = rowsPerPage,
    ...options
  }: Stoppable & { readonly perPage?: number } = {}): AsyncGenerator<ListedFile, void, undefined> {
    for (let after: string | undefined; ; ) {
      // The service reads nothing before the name that the page begins behind.
      const url = this.#at('files', { inbox: 'false', receipts: 'true', per_page: perPage, after });
      const request = { what: 'the listing', as: 'researcher', url, ...options } as const;
      const reply = await authorized(this.connection, request, (each) => readJson(each, pageBytes));
      const { files } = parsed(listing, reply);
      const [first] = files;
      if (first && after !== undefined && first.fileName <= after) {
        throw new ClientError('protocol', 'the service sent a page of its listing twice');
      }
      for (const { fileName: name, size, modifiedDate, expiryDate } of files) {
        yield { name, size, modified: timeIn(modifiedDate), expires: timeIn(expiryDate) };
      }
      if (files.length !== perPage) return;
      after = files.at(-1)?.fileName;
    }
  }

  /**
   * A URL that serves the container without credentials.
   * @param options.attempts as of `AuthorizedRequest`
   * @throws ClientError `not_found` if there is no such file in this user's outbox
   */
  async location(name: string, options: Stoppable & { readonly attempts?: number } = {}): Promise<Location> {
    const url = this.#at(`stream/${encodeURIComponent(name)}`, { redirect: 'false' });
    const request = { what: `the address of ${JSON.stringify(name)}`, as: 'researcher', url, ...options } as const;
    const reply = await authorized(this.connection, request, readJson);
    const { url: address, size } = parsed(locationReply, reply);
    const place = URL.canParse(address) ? new URL(address) : undefined;
    // A service elsewhere could make this machine ask programs that trust whoever reaches them here.
    const isOwn = place?.protocol === 'http:' && isLoopback(place) && !isLoopback(this.#url);
    if (place && !isOwn) return { url: place, size };
    const what = isOwn ? 'an address on this machine' : 'no address that can be used';
    throw new ClientError('protocol', `${JSON.stringify(name)}: the service gave ${what}`, {
      remedy: 'Tell the operator: the service must give the address of its storage.',
    });
  }

  /** The public keys that sign delivery receipts: a JWK set, as text. Sends no credentials. @throws ClientError */
  async keySet(options: Stoppable = {}): Promise<string> {
    const url = this.#at('.well-known/jwks.json');
    const request = { what: 'the keys of delivery receipts', as: 'anyone', url, ...options } as const;
    return await authorized(this.connection, request, (reply) => reply.text());
  }

  /**
   * Asks for an export. The service answers before it decides on the request.
   * @throws UnavailableError, with `mayBeDone` if the answer was lost; ClientError
   */
  async export(request: ExportRequest, options: Stoppable = {}): Promise<{ readonly requestId: string }> {
    const { id, type, visa, publicKey, kind } = request;
    const order = {
      what: `the export of ${JSON.stringify(id)}`,
      method: 'POST',
      once: true,
      url: this.#at(`export/${encodeURIComponent(kind)}`),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, type, visaToken: visa, userPublicKey: publicKey }),
      ...options,
    } as const;
    try {
      return parsed(accepted, await this.#asAdministrator(order));
    } catch (error) {
      // Something on the way changed the answer. Another status than that of success is an answer.
      if (!(error instanceof ClientError) || error instanceof ServiceError || error.code !== 'protocol') throw error;
      throw new UnavailableError(error.message, { retryable: false, mayBeDone: true, cause: error });
    }
  }

  /**
   * What happened to an export, with one page of its files in the order of their ids.
   * @param options.page of the files, from 0
   * @throws ClientError `not_found` if there is no record: the request was not consumed yet, or it was never made
   */
  async exportState(
    requestId: string,
    options: Stoppable & { readonly kind: string; readonly page?: number },
  ): Promise<ExportPage> {
    const { kind, page = 0, signal } = options;
    const url = this.#at(`export/${encodeURIComponent(kind)}/${encodeURIComponent(requestId)}`, { page });
    return exportPage(await this.#asAdministrator({ what: `the export ${requestId}`, url, signal }));
  }

  /** The newest exports; `page` counts from 0. The last page has fewer rows than `limits.exportsPerPage`. @throws ClientError */
  async exports(
    options: Stoppable & { kind: string; state?: string | undefined; since?: string | undefined; page?: number },
  ): Promise<ListedExport[]> {
    const { kind, state, since, page = 0, signal } = options;
    const url = this.#at(`export/${encodeURIComponent(kind)}`, { page, state, since });
    return listedExports(await this.#asAdministrator({ what: 'the list of exports', url, signal }));
  }

  /** The JSON of the reply. */
  #asAdministrator(request: Omit<AuthorizedRequest, 'as'>): Promise<unknown> {
    return authorized(this.connection, { ...request, as: 'administrator' }, readJson);
  }

  #at(path: string, query: Readonly<Record<string, string | number | undefined>> = {}): URL {
    const url = new URL(path, this.#url);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, `${value}`);
    }
    return url;
  }
}
