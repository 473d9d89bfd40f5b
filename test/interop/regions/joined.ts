import { expect } from 'vitest';

interface Ticket {
  readonly htsget: {
    readonly format: string;
    readonly urls: readonly {
      readonly url: string;
      readonly headers?: Record<string, string>;
      readonly class?: string;
    }[];
  };
}

/** The bytes of a region, joined as a client of htsget does. */
export async function joined(
  url: string,
  headers: Readonly<Record<string, string>>,
  init: RequestInit = {},
): Promise<Buffer> {
  const reply = await fetch(url, { ...init, headers });
  const text = await reply.text();
  expect(reply.status, text).toBe(200);
  return await fetchedParts(text);
}

/** The pieces of a ticket, joined: each URL in order, each with its own headers. */
export async function fetchedParts(ticket: string): Promise<Buffer> {
  const { htsget } = JSON.parse(ticket) as Ticket;
  const parts: Buffer[] = [];
  for (const { url: part, headers: own } of htsget.urls) {
    const answer = await fetch(part, own && { headers: own });
    expect(answer.status).toBe(own && 'Range' in own ? 206 : 200);
    parts.push(Buffer.from(await answer.arrayBuffer()));
  }
  return Buffer.concat(parts);
}
