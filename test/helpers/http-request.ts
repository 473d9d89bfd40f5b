import type { AuthorizerContext } from '../../lib/contract/http.ts';
import type { HttpRequest } from '../../lib/service/http/request.ts';

export interface RequestParts {
  readonly method?: string;
  readonly path?: string;
  /** By any spelling of the name; an array is a repeated header. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  readonly pathParameters?: Readonly<Record<string, string>>;
  /** Anything but text and bytes is sent as JSON. */
  readonly body?: unknown;
  /** What the front door's authorizer said of the caller. Default: nothing. */
  readonly authorizer?: AuthorizerContext;
}

/** A request as a front door hands it over. Its id is `gateway-request`. */
export function httpRequest(parts: RequestParts = {}): HttpRequest {
  const { headers = {}, query = {}, pathParameters = {}, body } = parts;
  const values = (value: string | readonly string[]) => (typeof value === 'string' ? [value] : value);
  return {
    requestId: 'gateway-request',
    method: parts.method ?? 'GET',
    path: parts.path ?? '/',
    headers: new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), values(value)])),
    query: new Map(Object.entries(query).map(([name, value]) => [name, values(value)])),
    pathParameters: new Map(Object.entries(pathParameters)),
    body: bytesOf(body),
    authorizer: parts.authorizer ?? {},
  };
}

/** `Basic …` for a name and password. */
export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}

function bytesOf(body: unknown): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body), 'utf8');
}
