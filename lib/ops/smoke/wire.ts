import { type IncomingHttpHeaders, request as plainly } from 'node:http';
import { request as securely } from 'node:https';

/** Several values of one name go out as several lines, and an empty list as none. */
export type Headers = Readonly<Record<string, string | readonly string[]>>;

/** A request as it goes over the wire. */
export interface WireRequest {
  readonly method: string;
  /** Below the base URL, with the query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body?: string | Uint8Array | undefined;
}

export interface WireReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** {@link bytes} as UTF-8. */
  readonly text: string;
}

/** Send what no proper client sends: the path is not resolved, headers are not joined, redirections are not followed. */
export function sendOverWire(baseUrl: string, request: WireRequest, signal: AbortSignal): Promise<WireReply> {
  const { protocol, hostname, port, pathname } = new URL(baseUrl);
  const { method, headers, body } = request;
  const path = `${pathname.replace(/\/$/, '')}/${request.path}`;
  const start = protocol === 'https:' ? securely : plainly;
  return new Promise((resolve, reject) => {
    const outgoing = start({ hostname, port, path, method, agent: false, signal }, (incoming) => {
      const { statusCode: status = 0, headers } = incoming;
      incoming.toArray().then((pieces: Buffer[]) => {
        const bytes = Buffer.concat(pieces);
        resolve({ status, headers, bytes, text: bytes.toString() });
      }, reject);
    });
    outgoing.on('error', reject);
    for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
    outgoing.end(body);
  });
}
