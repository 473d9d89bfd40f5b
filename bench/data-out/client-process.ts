/** The client of the benchmark, in its own process: its work does not count as the engine's. */
import { Agent, type IncomingMessage, request } from 'node:http';

/** One request, with redirects followed to their end. */
export interface Fetch {
  readonly url: string;
  /** Headers that a redirect does not take along. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface Fetched {
  readonly status: number;
  readonly bytes: number;
  /** Milliseconds since the epoch, with fractions. */
  readonly firstByteAt: number;
  readonly endedAt: number;
}

/** All at once. */
export type Job = readonly Fetch[];

export type JobReply =
  | { readonly startedAt: number; readonly fetched: readonly Fetched[] }
  | { readonly error: string };

const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const now = () => performance.timeOrigin + performance.now();

function get({ url, headers }: Fetch): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { agent, headers }, resolve).on('error', reject).end();
  });
}

async function fetched(wanted: Fetch): Promise<Fetched> {
  const reply = await get(wanted);
  const { statusCode: status = 0, headers } = reply;
  if (status === 307 && headers.location) {
    reply.resume();
    return fetched({ url: headers.location, headers: {} });
  }
  let bytes = 0;
  let firstByteAt = Number.NaN;
  // By events, because an iteration is slower.
  reply.on('data', (chunk: Uint8Array) => {
    if (bytes === 0) firstByteAt = now();
    bytes += chunk.length;
  });
  await new Promise((resolve, reject) => reply.on('end', resolve).on('error', reject));
  if (status !== 200 && status !== 206) throw new Error(`${wanted.url} answered ${status}`);
  if (headers['content-length'] !== undefined && Number(headers['content-length']) !== bytes) {
    throw new Error(`${wanted.url}: ${bytes} bytes of ${headers['content-length']}`);
  }
  return { status, bytes, firstByteAt, endedAt: now() };
}

process.on('message', (job: Job) => {
  const startedAt = now();
  Promise.all(job.map(fetched)).then(
    (all) => process.send?.({ startedAt, fetched: all } satisfies JobReply),
    (error: unknown) => process.send?.({ error: String(error) } satisfies JobReply),
  );
});
process.on('disconnect', () => process.exit());
