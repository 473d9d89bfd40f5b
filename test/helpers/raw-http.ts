import { type IncomingHttpHeaders, request } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { expect } from 'vitest';

export interface RawRequest {
  readonly method?: string;
  /** Several values of one name go out as several header lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
  /** The text of the body so far, whenever more of it came. Return `false` to go away. */
  readonly onText?: (text: string) => unknown;
}

export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as it came. */
  readonly bytes: Buffer;
  /** Whether the reply ended as HTTP says; otherwise the connection broke. */
  readonly complete: boolean;
}

/**
 * A request whose path and query go out as they are: `fetch` resolves `..`, and reports little about a reply that
 * breaks off. Redirects are not followed.
 */
export function rawRequest(baseUrl: string, path: string, init: RawRequest = {}): Promise<RawReply> {
  const { hostname, port, pathname } = new URL(baseUrl);
  const { method = 'GET', headers: sent = {}, body, onText } = init;
  const target = `${pathname.replace(/\/$/, '')}/${path}`;
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, path: target, method, agent: false }, (incoming) => {
      let text = '';
      const chunks: Buffer[] = [];
      const decoder = new StringDecoder('utf8');
      incoming.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        text += decoder.write(chunk);
        if (onText?.(text) === false) outgoing.destroy();
      });
      incoming.on('error', () => {});
      incoming.on('close', () => {
        const { statusCode: status = 0, headers, complete } = incoming;
        resolve({ status, headers, text: text + decoder.end(), bytes: Buffer.concat(chunks), complete });
      });
    });
    outgoing.on('error', reject);
    for (const [name, value] of Object.entries(sent)) outgoing.setHeader(name, value);
    outgoing.end(body);
  });
}

export interface ProblemDocument {
  readonly code: string;
  readonly detail?: string;
  readonly requestId: string;
  readonly violations?: readonly { readonly field: string; readonly message: string }[];
}

/** Members of every refusal, of a function and of the gateway alike (RFC 9457). */
export function expectProblem(reply: RawReply, status: number, code: string): ProblemDocument {
  expect([reply.status, reply.text]).toEqual([status, expect.stringContaining(`"code":"${code}"`)]);
  expect(reply.headers['content-type']).toBe('application/problem+json');
  expect(reply.headers['cache-control']).toBe('no-store');
  expect(reply.complete).toBe(true);
  const problem = JSON.parse(reply.text) as ProblemDocument;
  expect(problem).toMatchObject({ type: 'about:blank', title: expect.any(String), code });
  expect(problem.requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(reply.headers['x-amzn-requestid']).toBe(problem.requestId);
  expect([undefined, problem.requestId]).toContain(reply.headers['x-request-id']);
  if (status === 503) expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
  return problem;
}
