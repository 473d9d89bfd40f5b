import { parseJson } from '../../common/untrusted-json.ts';
import type { Transport } from './transport.ts';

/** The answer of a server to a first request. */
export interface Probe {
  readonly status: number;
  /** Time of the answer by the server's clock, to the second. */
  readonly date: Date | undefined;
  /** The same by this machine's clock: half-way between request and answer. */
  readonly localDate: Date;
  /** Milliseconds from request to answer. */
  readonly elapsedMs: number;
  /** The parsed reply; `undefined` if it is not JSON. */
  readonly json: unknown;
}

const probeBytes = 4 * 1024 * 1024;

/** Sends a request that needs no credentials. @throws ClientError */
export async function probe(transport: Transport, url: URL, signal: AbortSignal | undefined): Promise<Probe> {
  const backoff = transport.backoff(signal);
  for (;;) {
    try {
      const sent = transport.timing.now().getTime();
      const reply = await transport.send({ url, signal });
      const received = transport.timing.now().getTime();
      const date = new Date(reply.header('date') ?? '');
      return {
        status: reply.status,
        date: Number.isNaN(date.getTime()) ? undefined : date,
        localDate: new Date((sent + received) / 2),
        elapsedMs: received - sent,
        json: parseJson(await reply.text(probeBytes)),
      };
    } catch (error) {
      await backoff.failed(error);
    }
  }
}
