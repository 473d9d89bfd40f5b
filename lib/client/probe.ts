import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Transport } from './transport.ts';

/** The certificate by which a server proved its name. It was accepted. */
export interface ServerCertificate {
  /** Names that it is for, as the certificate has them. */
  readonly subject: string;
  readonly issuer: string;
  readonly validUntil: Date;
}

/** What a first look at a server shows. */
export interface Probe {
  readonly status: number;
  /** By the server's clock; to the second. */
  readonly date: Date | undefined;
  /** When that was by this machine's clock: half-way between question and answer. */
  readonly localDate: Date;
  /** How long the answer took, in milliseconds. */
  readonly elapsedMs: number;
  readonly certificate: ServerCertificate | undefined;
  /** The reply, when it is JSON. */
  readonly json: unknown;
}

/** Told by undici of each connection that is ready, with its socket. */
const connected = 'undici:client:connected';
const probeBytes = 4 * 1024 * 1024;

/**
 * Asks for something that needs no credentials, and looks at the connection.
 *
 * @throws UnavailableError, ClientError
 */
export async function probe(transport: Transport, url: URL, signal: AbortSignal | undefined): Promise<Probe> {
  let certificate: ServerCertificate | undefined;
  const look = (message: unknown) => {
    const { connectParams, socket } = message as ConnectedMessage;
    if (`${connectParams?.protocol}//${connectParams?.host}` === url.origin) certificate = certificateOf(socket);
  };
  subscribe(connected, look);
  try {
    const sent = transport.timing.now().getTime();
    const reply = await transport.send({ url, signal });
    const received = transport.timing.now().getTime();
    const text = await reply.text(probeBytes);
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
    unsubscribe(connected, look);
  }
}

interface ConnectedMessage {
  readonly connectParams?: { readonly protocol?: string; readonly host?: string };
  readonly socket?: { getPeerCertificate?(): PeerCertificate };
}

interface PeerCertificate {
  readonly subject?: { readonly CN?: string };
  readonly issuer?: { readonly CN?: string; readonly O?: string };
  readonly subjectaltname?: string;
  readonly valid_to?: string;
}

function certificateOf(socket: ConnectedMessage['socket']): ServerCertificate | undefined {
  const found = socket?.getPeerCertificate?.();
  const validUntil = new Date(found?.valid_to ?? '');
  if (found === undefined || Number.isNaN(validUntil.getTime())) return undefined;
  const { subject, issuer, subjectaltname = '' } = found;
  const names = subjectaltname.replaceAll(/\b(DNS|IP Address):/g, '');
  return { subject: names || (subject?.CN ?? ''), issuer: issuer?.O ?? issuer?.CN ?? '', validUntil };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
