import * as z from 'zod/mini';
import type { ListedExport } from '../../contract/export-state.ts';
import { limits } from '../../contract/limits.ts';
import { type AuthorizedRequest, authorized, type Credentials, type ServiceConnection } from './connection.ts';
import { ClientError } from './errors.ts';
import { type ExportPage, exportPage, listedExports } from './export-state.ts';
import { isLoopback } from './forward-proxy.ts';
import { optional, parsed, readJson, text, wholeNumber } from './json.ts';
import type { TransportReply } from './transport.ts';
import { outboxVisa } from './visa-choice.ts';

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
  /** Milliseconds from the service's answer to its expiry, by the service's own clock. */
  readonly lifetimeMs: number;
  readonly size: number;
}

/** Body of `POST /export/{kind}`. */
export interface ExportRequest {
  readonly id: string;
  /** Default: `datasetId`. */
  readonly type?: 'datasetId' | 'fileId';
  /** The recipient's visa or passport. */
  readonly visa: string;
  /** The recipient's public key, in any form that the service takes. */
  readonly publicKey: string;
  /** Default: `fega`. */
  readonly kind?: string;
}

/** Most rows of one page of exports, and most files of one page of an export. */
export const { exportsPerPage, exportedFilesPerPage } = limits;
/** Rows of one request. */
const rowsPerPage = 10_000;
/** Most bytes of a page; a row has about 300. */
const pageBytes = 64 * 1024 * 1024;

/** Longest visa that is sent twice: with the other headers, that is within the limit of a gateway. */
const mostTwiceBytes = 4_500;

const asResearcher: Credentials = ({ visa, basic }) => ({
  // In both headers: some intermediaries remove Proxy-Authorization. A long passport fits only once.
  ...(visa.length <= mostTwiceBytes && { proxyAuthorization: `Bearer ${visa}` }),
  headers: { 'x-ga4gh-visa': visa, ...(basic !== undefined && { authorization: basic }) },
});

const accepted = z.object({ requestId: text, message: optional(z.string()) });
const locationReply = z.object({ url: text, expiresAt: text, size: wholeNumber });

/** The proxy API: administrators ask for exports, researchers read their outbox. */
export class ProxyApi {
  readonly connection: ServiceConnection;
  readonly #url: URL;

  /** @throws ClientError `usage` if the connection has no address of a proxy API */
  constructor(connection: ServiceConnection) {
    if (connection.proxyUrl === undefined) {
      throw new ClientError('usage', 'no address of the service is set', {
        remedy: 'data-out setup asks for it; or give it with --url or DATA_OUT_URL.',
      });
    }
    this.connection = connection;
    this.#url = connection.proxyUrl;
  }

  /** Every container and delivery receipt in the outbox, in name order, page by page. @throws ClientError */
  async *list(options: { signal?: AbortSignal | undefined } = {}): AsyncGenerator<ListedFile, void, undefined> {
    for (let after: string | undefined; ; ) {
      const { files } = await this.listPage({ after, perPage: rowsPerPage, ...options });
      const [first] = files;
      if (first && after !== undefined && first.name <= after) throw samePage();
      yield* files;
      if (files.length !== rowsPerPage) return;
      after = files.at(-1)?.name;
    }
  }

  /**
   * One page. The last one has fewer rows than `perPage`.
   * @param options.after a file name: the page begins behind it, and the service reads nothing before it. @default the first
   * @throws ClientError
   */
  async listPage(options: {
    readonly perPage: number;
    readonly after?: string | undefined;
    readonly signal?: AbortSignal | undefined;
  }): Promise<{ files: ListedFile[] }> {
    const { perPage, after, signal } = options;
    const url = this.#at('files');
    const query = new URLSearchParams({ inbox: 'false', receipts: 'true', per_page: `${perPage}` });
    if (after !== undefined) query.set('after', after);
    url.search = query.toString();
    const reply = await this.#read('the listing', { url, signal }, (each) => readJson(each, pageBytes));
    return { files: parsed(listing, reply).files.map(listedFile) };
  }

  /**
   * A URL that serves the container without credentials.
   * @param options.attempts as of `AuthorizedRequest`
   * @throws ClientError `not_found` if there is no such file in this user's outbox
   */
  async location(
    name: string,
    options: { readonly signal?: AbortSignal | undefined; readonly attempts?: number } = {},
  ): Promise<Location> {
    const { signal, ...more } = options;
    const url = this.#at(`stream/${encodeURIComponent(name)}`);
    url.search = 'redirect=false';
    const what = `the address of ${JSON.stringify(name)}`;
    return await this.#read(what, { url, signal }, async (reply) => this.#locationIn(reply, name), more);
  }

  /**
   * The public keys that sign delivery receipts, as the text of a JWK set. Sends no credentials.
   * @throws ClientError
   */
  async keySet(options: { signal?: AbortSignal | undefined } = {}): Promise<string> {
    const request = { url: this.#at('.well-known/jwks.json'), ...options };
    const about = { what: 'the keys of delivery receipts', needsVisa: false, request, credentials: () => ({}) };
    return await authorized({ ...this.connection, basic: undefined }, about, (reply) => reply.text());
  }

  /**
   * Asks for an export. The service answers before it decides on the request.
   * @throws UnavailableError, with `mayBeDone` if the answer was lost; ClientError
   */
  async export(
    request: ExportRequest,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<{ requestId: string; message: string | undefined }> {
    const { id, type = 'datasetId', visa, publicKey, kind = 'fega' } = request;
    const order = {
      method: 'POST' as const,
      url: this.#at(`export/${encodeURIComponent(kind)}`),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, type, visaToken: visa, userPublicKey: publicKey }),
      ...options,
    };
    const reply = await this.#asAdministrator(`the export of ${JSON.stringify(id)}`, order, { once: true });
    const { requestId, message } = parsed(accepted, reply);
    return { requestId, message };
  }

  /**
   * What happened to an export.
   * @param options.page of the files, from 0
   * @throws ClientError `not_found` if there is no record: the request was not consumed yet, or it was never made
   */
  async exportState(
    requestId: string,
    options: { readonly kind: string; readonly page?: number; readonly signal?: AbortSignal | undefined },
  ): Promise<ExportPage> {
    const { kind, page = 0, signal } = options;
    const url = this.#at(`export/${encodeURIComponent(kind)}/${encodeURIComponent(requestId)}`);
    url.search = `page=${page}`;
    return exportPage(await this.#asAdministrator(`the export ${requestId}`, { url, signal }));
  }

  /** The newest exports; `page` counts from 0. The last page has fewer rows than {@link exportsPerPage}. @throws ClientError */
  async exports(options: {
    readonly kind: string;
    readonly state?: string | undefined;
    readonly since?: string | undefined;
    readonly page?: number;
    readonly signal?: AbortSignal | undefined;
  }): Promise<ListedExport[]> {
    const { kind, state, since, page = 0, signal } = options;
    const url = this.#at(`export/${encodeURIComponent(kind)}`);
    url.searchParams.set('page', `${page}`);
    if (state !== undefined) url.searchParams.set('state', state);
    if (since !== undefined) url.searchParams.set('since', since);
    return listedExports(await this.#asAdministrator('the list of exports', { url, signal }));
  }

  /** From the body of a reply to `redirect=false`. @throws ClientError `protocol`; UnavailableError */
  async #locationIn(reply: TransportReply, name: string): Promise<Location> {
    const { url: address, expiresAt, size } = parsed(locationReply, await readJson(reply));
    const sentAt = Date.parse(reply.header('date') ?? '') || Date.now();
    const lifetimeMs = Date.parse(expiresAt) - sentAt;
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (!url || Number.isNaN(lifetimeMs)) {
      throw new ClientError('protocol', `${JSON.stringify(name)}: the service gave no address that can be used`);
    }
    // A service elsewhere could make this machine ask programs that trust whoever reaches them here.
    if (url.protocol === 'http:' && isLoopback(url) && !isLoopback(this.#url)) {
      throw new ClientError('protocol', `${JSON.stringify(name)}: the service gave an address on this machine`, {
        remedy: 'Tell the operator: a service on another machine must give the address of its storage.',
      });
    }
    return { url, lifetimeMs, size };
  }

  /** The JSON of the reply. */
  #asAdministrator(
    what: string,
    request: AuthorizedRequest['request'],
    more: Pick<AuthorizedRequest, 'once'> = {},
  ): Promise<unknown> {
    const credentials: Credentials = ({ basic }) => ({ headers: basic === undefined ? {} : { authorization: basic } });
    return authorized(this.connection, { ...more, what, needsVisa: false, request, credentials }, readJson);
  }

  #at(path: string): URL {
    return new URL(path, this.#url);
  }

  #read<T>(
    what: string,
    request: AuthorizedRequest['request'],
    read: (reply: TransportReply) => Promise<T>,
    more: Pick<AuthorizedRequest, 'attempts'> = {},
  ): Promise<T> {
    const options = { what, needsVisa: true, request, credentials: asResearcher, choice: outboxVisa, ...more };
    return authorized(this.connection, options, read);
  }
}

function samePage(): ClientError {
  return new ClientError('protocol', 'the service sent the same page of its listing twice', {
    remedy: 'Ask the operator to update the service: this version cannot list so large an outbox.',
  });
}

const listing = z.object({
  files: z.array(
    z.object({
      fileName: text,
      size: wholeNumber,
      ...{ modifiedDate: optional(text), expiryDate: optional(text) },
    }),
  ),
});

function listedFile({ fileName: name, size, ...dates }: z.infer<typeof listing>['files'][number]): ListedFile {
  const [modified, expires] = [date(dates.modifiedDate), date(dates.expiryDate)];
  return { name, size, modified, expires };
}

function date(text = ''): Date | undefined {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? undefined : time;
}
