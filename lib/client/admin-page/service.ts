import type { ExportState, ListedExport } from '../../contract/export-state.ts';
import { type ExportPage, exportPage, listedExports } from '../api/export-state.ts';
import type { OrderType } from '../api/order/order-rules.ts';
import { type Refusal, readRefusal } from './refusal.ts';

/** The service refused a call, or did not answer. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.what);
    this.refusal = refusal;
  }
}

/** What is sent. */
export interface ExportRequestBody {
  readonly id: string;
  readonly type: OrderType;
  readonly visaToken: string;
  readonly userPublicKey: string;
}

/** Milliseconds. API Gateway gives up after 29 seconds. */
const timeoutMs = 40_000;

/** The routes of exports, below the address of this page. The browser adds the password that it was given for the page. */
export class Service {
  readonly #exports: URL;
  readonly #fetch: (address: URL, init: RequestInit) => Promise<Response>;

  /** @param page address of the page, with or without a slash at its end */
  constructor(page: string, archiveKind: string, ask = (address: URL, init: RequestInit) => fetch(address, init)) {
    this.#fetch = ask;
    this.#exports = new URL(`export/${archiveKind}`, page.replace(/[?#].*$/, '').replace(/\/+$/, ''));
  }

  /** @param page zero-based @throws RefusedError, ClientError */
  async list(state: ExportState | undefined, page: number): Promise<readonly ListedExport[]> {
    const address = new URL(this.#exports);
    if (state !== undefined) address.searchParams.set('state', state);
    if (page > 0) address.searchParams.set('page', String(page));
    return listedExports(await this.#call(address));
  }

  /** @param page zero-based, of its files @throws RefusedError, ClientError */
  async show(requestId: string, page: number): Promise<ExportPage> {
    const address = new URL(`${this.#exports.href}/${encodeURIComponent(requestId)}`);
    if (page > 0) address.searchParams.set('page', String(page));
    return exportPage(await this.#call(address));
  }

  /** @returns the request id @throws RefusedError */
  async send(order: ExportRequestBody): Promise<string> {
    const headers = { 'Content-Type': 'application/json' };
    const reply = await this.#call(this.#exports, { method: 'POST', headers, body: JSON.stringify(order) });
    const { requestId }: { readonly requestId?: unknown } = Object(reply);
    if (typeof requestId === 'string') return requestId;
    throw new RefusedError(readRefusal({ status: 200, text: '', retryAfter: null }, true));
  }

  async #call(address: URL, init: RequestInit = {}): Promise<unknown> {
    const isOrder = init.method === 'POST';
    let response: Response;
    let text: string;
    try {
      response = await this.#fetch(address, { ...init, cache: 'no-store', signal: AbortSignal.timeout(timeoutMs) });
      text = await response.text();
    } catch {
      throw new RefusedError(readRefusal({ status: 0, text: '', retryAfter: null }, isOrder));
    }
    const { status, headers } = response;
    const retryAfter = headers.get('Retry-After');
    const refused = () => new RefusedError(readRefusal({ status, text, retryAfter }, isOrder));
    if (!response.ok) throw refused();
    try {
      return JSON.parse(text);
    } catch {
      throw refused();
    }
  }
}
