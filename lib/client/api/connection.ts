import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../contract/limits.ts';
import { ClientError, ServiceError, UnavailableError } from './errors.ts';
import { fewerHeaders, refusal } from './problem.ts';
import type { Transport, TransportReply, TransportRequest } from './transport.ts';
import type { VisaChoice } from './visa-choice.ts';

/** User name and password of HTTP Basic (RFC 7617). */
export interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

/** Settings of {@link connect}. Secrets come from functions, so that a renewed file is read again. */
export interface ConnectionSettings {
  /** Base URL of the proxy API, such as `https://….amazonaws.com/v1/`. */
  readonly proxyUrl?: string | undefined;
  readonly visa?: (() => Promise<string>) | undefined;
  readonly basic?: (() => Promise<BasicCredentials>) | undefined;
  /** Receives each remark for the user, once. A remark may hold text of a token. Default: remarks are dropped. */
  readonly note?: (text: string) => void;
  readonly transport: Transport;
}

/** One service, with the user's credentials. */
export interface ServiceConnection {
  /** Base URL of the proxy API; its path ends in `/`. */
  readonly proxyUrl: URL | undefined;
  /** Gives the visa or passport. It is asked again after a refusal, since the user may have renewed the file. */
  readonly visa: () => Promise<string>;
  readonly basic: (() => Promise<BasicCredentials>) | undefined;
  readonly note: (text: string) => void;
  readonly transport: Transport;
}

/** @throws ClientError `usage` if a URL is not valid, holds credentials, or is not encrypted */
export function connect(settings: ConnectionSettings): ServiceConnection {
  const { transport, basic, note } = settings;
  const noted = new Set<string>();
  return {
    proxyUrl: baseUrl(settings.proxyUrl, transport),
    visa: settings.visa ?? (() => Promise.reject(noVisa())),
    basic,
    note: (text) => {
      if (!noted.has(text)) note?.(text);
      noted.add(text);
    },
    transport,
  };
}

function noVisa(): ClientError {
  return new ClientError('usage', 'no visa is set', {
    remedy: 'data-out setup asks for it; or name the file of your visa or passport with --visa or DATA_OUT_VISA_FILE.',
  });
}

function baseUrl(text: string | undefined, transport: Transport): URL | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const problem = (message: string) =>
    new ClientError('usage', `the address of the service ${message}`, {
      remedy: 'It looks like https://data-out.example.org/v1/.',
    });
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw problem('is not an http address');
  // The message does not repeat the text: it may hold a password.
  if (url.username || url.password) throw problem('holds credentials, which would end up in logs');
  if (url.search || url.hash) throw problem('has a query or a fragment');
  transport.checkScheme(url);
  return withSlash(url);
}

/** An address that paths can be appended to: its own path ends in `/`. */
export function withSlash(url: URL): URL {
  const base = new URL(url);
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return base;
}

interface Secrets {
  readonly visa: string;
  /** Value of an `Authorization` header. */
  readonly basic: string | undefined;
}

/** Makes the header lines of {@link authorized} from the secrets. */
export type Credentials = (secrets: Secrets) => Partial<TransportRequest>;

/** A request to which {@link authorized} adds the credentials. */
export interface AuthorizedRequest {
  /** Names the request in errors, such as `the listing`. */
  readonly what: string;
  readonly needsVisa: boolean;
  readonly request: Pick<TransportRequest, 'method' | 'url' | 'headers' | 'body' | 'signal'>;
  readonly credentials: Credentials;
  /** Chooses a visa from a passport that is too large for the headers. Default: nothing is sent then. */
  readonly choice?: VisaChoice;
  /** Failed attempts in a row after which it is given up; default: those of the transport. */
  readonly attempts?: number;
  /** Whether it must not be done twice: it is then not sent again once the service might have acted on it. Default: no. */
  readonly once?: boolean;
}

/**
 * Sends a request with the user's credentials, reads the reply, and retries both as the transport's policy says. If the service
 * refuses the credentials, they are read again; if they have changed, the request is sent once more.
 * @param read gets a reply with a status below 300
 * @throws ClientError
 */
export async function authorized<T>(
  connection: ServiceConnection,
  options: AuthorizedRequest,
  read: (reply: TransportReply) => Promise<T>,
): Promise<T> {
  const { transport } = connection;
  const { request, what, needsVisa, once } = options;
  const backoff = transport.backoff(request.signal, options.attempts);
  let renewed = false;
  for (;;) {
    const secrets = await secretsOf(connection, needsVisa);
    const complete = fitting(connection, options, secrets);
    try {
      const reply = await transport.send(complete);
      if (reply.status < 300) return await read(reply);
      throw await refusal(reply, what, transport.timing.now());
    } catch (error) {
      if (error instanceof ServiceError && error.status === 401) {
        // The same credentials would be refused again.
        if (renewed || isDeepStrictEqual(secrets, await secretsOf(connection, needsVisa))) throw error;
        renewed = true;
      } else if (once && error instanceof UnavailableError && error.mayBeDone) {
        throw error;
      } else {
        await backoff.failed(error);
      }
    }
  }
}

/**
 * The request with its credentials. One visa takes the place of a passport that is too large for a gateway.
 * @throws ClientError `usage` if nothing fits
 */
function fitting(
  { transport, note }: ServiceConnection,
  { what, request, credentials, choice }: AuthorizedRequest,
  secrets: Secrets,
): TransportRequest {
  const complete = (visa: string): TransportRequest => {
    const { headers, ...more } = credentials({ ...secrets, visa });
    return { ...request, ...more, headers: { ...request.headers, ...headers } };
  };
  const isTaken = (visa: string) => transport.headerBytes(complete(visa)) <= limits.requestHeaderBytes;
  if (isTaken(secrets.visa)) return complete(secrets.visa);
  const chosen = choice?.(secrets.visa, isTaken);
  if (!chosen) throw tooLarge(what, complete(secrets.visa), transport);
  note(chosen.note);
  return complete(chosen.visa);
}

function tooLarge(what: string, request: TransportRequest, transport: Transport): ClientError {
  const sizes = Object.entries(request.headers ?? {}).map(([name, value]) => ({ name, bytes: value.length }));
  const [largest] = sizes.sort((a, b) => b.bytes - a.bytes);
  const all = `${transport.headerBytes(request)} bytes of headers are more than the ${limits.requestHeaderBytes} that a gateway takes`;
  return new ClientError('usage', `${what}: ${all}; ${largest?.name} has ${largest?.bytes}`, {
    remedy: fewerHeaders,
  });
}

async function secretsOf({ visa, basic }: ServiceConnection, needsVisa: boolean): Promise<Secrets> {
  const credentials = await basic?.();
  return {
    visa: needsVisa ? (await visa()).trim() : '',
    basic: credentials && basicAuthorization(credentials),
  };
}

/** The value of an `Authorization` header for HTTP Basic (RFC 7617). */
export function basicAuthorization({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}
