import { limits } from '../contract/limits.ts';
import { ClientError, ServiceError } from './errors.ts';
import { fewerHeaders, refusal } from './problem.ts';
import type { Transport, TransportReply, TransportRequest } from './transport.ts';
import type { VisaChoice } from './visa-choice.ts';

/** User name and password of HTTP Basic (RFC 7617). */
export interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

/** What {@link connect} needs. Secrets come from functions, so that whoever renews a file is noticed. */
export interface ConnectionSettings {
  /** Base URLs, such as `https://….amazonaws.com/v1/`. */
  readonly proxyUrl?: string | undefined;
  readonly dataOutUrl?: string | undefined;
  readonly visa?: (() => Promise<string>) | undefined;
  readonly basic?: (() => Promise<BasicCredentials>) | undefined;
  /** Gets each remark for the user once. A remark may hold text of a token. Default: remarks are dropped. */
  readonly note?: (text: string) => void;
  readonly transport: Transport;
}

/** One service, with the user's credentials. */
export interface ServiceConnection {
  /** Base URL of the proxy API; its path ends in `/`. */
  readonly proxyUrl: URL | undefined;
  /** Base URL of the data-out API; its path ends in `/`. */
  readonly dataOutUrl: URL | undefined;
  /** The visa or passport. Asked again when it was refused: files are renewed. */
  readonly visa: () => Promise<string>;
  readonly basic: (() => Promise<BasicCredentials>) | undefined;
  readonly note: (text: string) => void;
  readonly transport: Transport;
}

/** @throws ClientError `usage` when a URL is none, holds credentials, or is not encrypted */
export function connect(settings: ConnectionSettings): ServiceConnection {
  const { transport, basic, note } = settings;
  const told = new Set<string>();
  return {
    proxyUrl: baseUrl(settings.proxyUrl, 'proxy', transport),
    dataOutUrl: baseUrl(settings.dataOutUrl, 'data-out', transport),
    visa: settings.visa ?? (() => Promise.reject(noVisa())),
    basic,
    note: (text) => {
      if (!told.has(text)) note?.(text);
      told.add(text);
    },
    transport,
  };
}

function noVisa(): ClientError {
  return new ClientError('usage', 'there is no visa', { remedy: 'Name the file of your visa or passport.' });
}

function baseUrl(text: string | undefined, what: string, transport: Transport): URL | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const problem = (message: string) =>
    new ClientError('usage', `the address of the ${what} API ${message}`, {
      remedy: 'It looks like https://data-out.example.org/v1/.',
    });
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw problem('is no http address');
  // The text is not repeated: it may hold a password.
  if (url.username || url.password) throw problem('holds credentials, which would end up in logs');
  if (url.search || url.hash) throw problem('has a query or a fragment');
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  transport.checkScheme(url);
  return url;
}

interface Secrets {
  readonly visa: string;
  /** Value of an `Authorization` header. */
  readonly basic: string | undefined;
}

/** Header lines of {@link authorized}, by the secrets. */
export type Credentials = (secrets: Secrets) => Partial<TransportRequest>;

/** A request that {@link authorized} completes. */
export interface AuthorizedRequest {
  /** What is asked for, for error texts. */
  readonly what: string;
  readonly needsVisa: boolean;
  readonly request: Pick<TransportRequest, 'method' | 'url' | 'headers' | 'body' | 'signal'>;
  readonly credentials: Credentials;
  /** Chooses from a passport that is too large for the headers. Default: then nothing is sent. */
  readonly choice?: VisaChoice;
  /** Statuses that are a reply besides those below 300. */
  readonly accepts?: readonly number[];
}

/**
 * Sends a request with the user's credentials, as often as the transport's patience allows. When they are refused they
 * are read again, and sent again if they have changed.
 *
 * @returns a reply with a status below 300
 * @throws ClientError
 */
export async function authorized(connection: ServiceConnection, options: AuthorizedRequest): Promise<TransportReply> {
  const { transport } = connection;
  const { request, what, accepts = [] } = options;
  const backoff = transport.backoff(request.signal);
  let renewed = false;
  for (;;) {
    const secrets = await secretsOf(connection, options.needsVisa);
    // Outside: a choice that asks the service has a patience of its own.
    const complete = await fitting(connection, options, secrets);
    try {
      const reply = await transport.send(complete);
      if (reply.status < 300 || accepts.includes(reply.status)) return reply;
      throw await refusal(reply, what, transport.timing.now());
    } catch (error) {
      if (error instanceof ServiceError && error.status === 401) {
        // The same again would be refused again.
        if (renewed || isSame(secrets, await secretsOf(connection, options.needsVisa))) throw error;
        renewed = true;
      } else {
        await backoff.failed(error);
      }
    }
  }
}

/**
 * The request with its credentials, and if need be with one visa in place of a passport, so that a gateway takes it.
 *
 * @throws ClientError `usage` when nothing fits
 */
async function fitting(
  { transport, note }: ServiceConnection,
  { what, request, credentials, choice }: AuthorizedRequest,
  secrets: Secrets,
): Promise<TransportRequest> {
  const complete = (visa: string): TransportRequest => {
    const { headers, ...more } = credentials({ ...secrets, visa });
    return { ...request, ...more, headers: { ...request.headers, ...headers } };
  };
  const isTaken = (visa: string) => headersFit(transport, complete(visa));
  if (isTaken(secrets.visa)) return complete(secrets.visa);
  const chosen = await choice?.(secrets.visa, isTaken);
  if (!chosen) throw tooLarge(what, complete(secrets.visa), transport);
  note(chosen.note);
  return complete(chosen.visa);
}

/** Whether a gateway takes headers of this size. */
export function headersFit(transport: Transport, request: TransportRequest): boolean {
  return transport.headerBytes(request) <= limits.requestHeaderBytes;
}

function tooLarge(what: string, request: TransportRequest, transport: Transport): ClientError {
  const sizes = Object.entries(request.headers ?? {}).map(([name, value]) => ({ name, bytes: value.length }));
  const [largest] = sizes.sort((a, b) => b.bytes - a.bytes);
  const all = `${transport.headerBytes(request)} bytes of headers are more than the ${limits.requestHeaderBytes} that a gateway takes`;
  return new ClientError('usage', `${what}: ${all}; ${largest?.name} has ${largest?.bytes}`, {
    remedy: fewerHeaders,
  });
}

function isSame(one: Secrets, other: Secrets): boolean {
  return one.visa === other.visa && one.basic === other.basic;
}

async function secretsOf({ visa, basic }: ServiceConnection, needsVisa: boolean): Promise<Secrets> {
  const credentials = await basic?.();
  return {
    visa: needsVisa ? (await visa()).trim() : '',
    basic:
      credentials &&
      `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`, 'utf8').toString('base64')}`,
  };
}
