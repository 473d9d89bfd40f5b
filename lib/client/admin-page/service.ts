import type { ExportState, ListedExport } from '../../contract/export-state.ts';
import { type ExportPage, exportPage, listedExports } from '../api/export-page.ts';
import type { OrderType } from '../api/order/order-rules.ts';
import { type Refusal, type RefusedReply, readRefusal } from './refusal.ts';

/** The service refused a call, or did not answer. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.what);
    this.refusal = refusal;
  }
}

/** The lines of an alert: what went wrong, and what to do. @throws what is not an Error */
export function linesOf(error: unknown): readonly string[] {
  if (!(error instanceof Error)) throw error;
  if (!(error instanceof RefusedError)) return [error.message, 'Tell the operator.'];
  const { what, violations, remedy } = error.refusal;
  return [what, ...violations, remedy];
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
const noReply: RefusedReply = { status: 0, text: '', retryAfter: null };

/**
 * The routes of exports, below the address of this page. The browser adds the password that it was given for the page.
 * @param page address of the page, with or without a slash at its end
 */
export function connectService(
  page: string,
  archiveKind: string,
  ask = (address: URL, init: RequestInit) => fetch(address, init),
) {
  const exports = new URL(`export/${archiveKind}`, page.replace(/[?#].*$/, '').replace(/\/+$/, ''));
  const call = async (address: URL, init: RequestInit = {}): Promise<unknown> => {
    let reply = noReply;
    try {
      const response = await ask(address, { ...init, cache: 'no-store', signal: AbortSignal.timeout(timeoutMs) });
      const { status, headers } = response;
      reply = { status, text: await response.text(), retryAfter: headers.get('Retry-After') };
      if (response.ok) return JSON.parse(reply.text);
    } catch {
      // No reply, or one that is not JSON.
    }
    throw new RefusedError(readRefusal(reply, init.method === 'POST'));
  };
  const get = (address: string, page: number, state?: ExportState) => {
    const asked = new URL(address);
    if (state !== undefined) asked.searchParams.set('state', state);
    if (page > 0) asked.searchParams.set('page', String(page));
    return call(asked);
  };
  return {
    /** @param page zero-based @throws RefusedError, ClientError */
    async list(state: ExportState | undefined, page: number): Promise<readonly ListedExport[]> {
      return listedExports(await get(exports.href, page, state));
    },

    /** @param page zero-based, of its files @throws RefusedError, ClientError */
    async show(requestId: string, page: number): Promise<ExportPage> {
      return exportPage(await get(`${exports.href}/${encodeURIComponent(requestId)}`, page));
    },

    /** @returns the request id @throws RefusedError */
    async send(order: ExportRequestBody): Promise<string> {
      const headers = { 'Content-Type': 'application/json' };
      const reply = await call(exports, { method: 'POST', headers, body: JSON.stringify(order) });
      const { requestId }: { readonly requestId?: unknown } = Object(reply);
      if (typeof requestId === 'string') return requestId;
      throw new RefusedError(readRefusal({ ...noReply, status: 200 }, true));
    },
  };
}

export type Service = ReturnType<typeof connectService>;
