import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { PeerCertificate } from 'node:tls';
import type { Transport } from './transport.ts';

/** The certificate of a server, which was accepted. */
export interface ServerCertificate {
  /** The names that it is for, as in the certificate. */
  readonly subject: string;
  readonly issuer: string;
  readonly validUntil: Date;
}

/** The answer of a server to a first request. */
export interface Probe {
  readonly status: number;
  /** Time of the answer by the server's clock, to the second. */
  readonly date: Date | undefined;
  /** The same by this machine's clock: half-way between request and answer. */
  readonly localDate: Date;
  /** Milliseconds from request to answer. */
  readonly elapsedMs: number;
  readonly certificate: ServerCertificate | undefined;
  /** The parsed reply; `undefined` if it is not JSON. */
  readonly json: unknown;
}

/** Channel on which undici reports each new connection with its socket. */
const connected = 'undici:client:connected';
const probeBytes = 4 * 1024 * 1024;

/**
 * Sends a request that needs no credentials, and notes the certificate of its connection.
 * @throws UnavailableError, ClientError
 */
export async function probe(transport: Transport, url: URL, signal: AbortSignal | undefined): Promise<Probe> {
  let certificate: ServerCertificate | undefined;
  const onConnected = (message: unknown) => {
    const { connectParams, socket } = message as ConnectedMessage;
    if (`${connectParams?.protocol}//${connectParams?.host}` === url.origin) certificate = certificateOf(socket);
  };
  subscribe(connected, onConnected);
  try {
    const { reply, text, sent, received } = await answer(transport, url, signal);
    const date = new Date(reply.header('date') ?? '');
    return {
      status: reply.status,
      date: Number.isNaN(date.getTime()) ? undefined : date,
      localDate: new Date((sent + received) / 2),
      elapsedMs: received - sent,
      certificate,
      json: parsed(text),
    };
  } finally {
    unsubscribe(connected, onConnected);
  }
}

async function answer(transport: Transport, url: URL, signal: AbortSignal | undefined) {
  const backoff = transport.backoff(signal);
  for (;;) {
    try {
      const sent = transport.timing.now().getTime();
      const reply = await transport.send({ url, signal });
      const received = transport.timing.now().getTime();
      return { reply, text: await reply.text(probeBytes), sent, received };
    } catch (error) {
      await backoff.failed(error);
    }
  }
}

interface ConnectedMessage {
  readonly connectParams?: { readonly protocol?: string; readonly host?: string };
  readonly socket?: { getPeerCertificate?(): Partial<PeerCertificate> };
}

function certificateOf(socket: ConnectedMessage['socket']): ServerCertificate | undefined {
  const found = socket?.getPeerCertificate?.();
  const validUntil = new Date(found?.valid_to ?? '');
  if (found === undefined || Number.isNaN(validUntil.getTime())) return undefined;
  const { subject, issuer, subjectaltname = '' } = found;
  const names = subjectaltname.replaceAll(/\b(DNS|IP Address):/g, '');
  const [name = '', by = ''] = [names || subject?.CN, issuer?.O ?? issuer?.CN].map((each) => each?.toString());
  return { subject: name, issuer: by, validUntil };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
