import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../contract/limits.ts';
import { ClientError, ServiceError, UnavailableError } from './errors.ts';
import { fewerHeaders, refusal, type Sender } from './problem.ts';
import type { Transport, TransportReply, TransportRequest } from './transport.ts';
import { outboxVisa } from './visa-choice.ts';

/** User name and password of HTTP Basic (RFC 7617). */
export interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

/** One service, with the user's credentials. Secrets come from functions, so that a renewed file is read again. */
export interface ServiceConnection {
  /** Base URL of the delivery API; its path ends in `/`. */
  readonly proxyUrl: URL | undefined;
  /** Gives the visa or passport. @param refused the one that the service does not take: another one is of more use */
  readonly visa: (refused?: string) => Promise<string>;
  readonly basic: (() => Promise<BasicCredentials>) | undefined;
  /** Receives each remark for the user, once. A remark may hold text of a token. */
  readonly note: (text: string) => void;
  readonly transport: Transport;
}

/** @param settings.note default: remarks are dropped @throws ClientError `usage` if the address is not encrypted */
export function connect(
  settings: Partial<Omit<ServiceConnection, 'proxyUrl'>> & {
    readonly proxyUrl?: string | URL | undefined;
    readonly transport: Transport;
  },
): ServiceConnection {
  const { transport, basic, note, visa = noVisa } = settings;
  const proxyUrl = settings.proxyUrl === undefined ? undefined : withSlash(new URL(settings.proxyUrl));
  if (proxyUrl) transport.checkScheme(proxyUrl);
  const noted = new Set<string>();
  return {
    proxyUrl,
    visa,
    basic,
    transport,
    note: (text) => {
      if (!noted.has(text)) note?.(text);
      noted.add(text);
    },
  };
}

/** @throws ClientError `usage`: what to do without a visa */
export async function noVisa(): Promise<never> {
  throw new ClientError('usage', 'no visa is set', {
    remedy:
      'data-out login gets it, if the archive offers that; data-out setup asks for its file; or name the file of your visa or passport with --visa or DATA_OUT_VISA_FILE.',
  });
}

/** The address of the service; its path ends in `/`. @throws ClientError `usage` if none is set */
export function addressOf({ proxyUrl }: { readonly proxyUrl: URL | undefined }): URL {
  if (proxyUrl) return withSlash(proxyUrl);
  throw new ClientError('usage', 'no address of the service is set', {
    remedy: 'Give it with --url or DATA_OUT_URL. Researchers can store it with data-out setup.',
  });
}

/** An address that paths can be appended to: its own path ends in `/`. */
export function withSlash(url: URL): URL {
  const base = new URL(url);
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return base;
}

/** A request to which {@link authorized} adds the credentials. */
export interface AuthorizedRequest extends TransportRequest {
  /** Names the request in errors, such as `the listing`. */
  readonly what: string;
  readonly as: Sender;
  /** Failed attempts in a row after which it is given up; default: those of the transport. */
  readonly attempts?: number | undefined;
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
  request: AuthorizedRequest,
  read: (reply: TransportReply) => Promise<T>,
): Promise<T> {
  const { transport } = connection;
  const { what, signal, attempts, once } = request;
  const backoff = transport.backoff(signal, attempts);
  let isRenewed = false;
  for (;;) {
    const complete = await withCredentials(connection, request);
    try {
      const reply = await transport.send(complete);
      if (reply.status < 300) return await read(reply);
      throw await refusal(reply, what, request.as);
    } catch (error) {
      if (error instanceof ServiceError && error.status === 401) {
        const refused = error.message.includes('the visa was refused') ? complete.headers?.[visaHeader] : undefined;
        // The same credentials would be refused again.
        if (isRenewed || isDeepStrictEqual(complete, await withCredentials(connection, request, refused))) throw error;
        isRenewed = true;
      } else if (once && error instanceof UnavailableError && error.mayBeDone) {
        throw error;
      } else {
        await backoff.failed(error);
      }
    }
  }
}

/** Not Proxy-Authorization, which some intermediaries remove. */
const visaHeader = 'x-ga4gh-visa';

/**
 * The request with its credentials. One visa takes the place of a passport that is too large for a gateway.
 * @throws ClientError `usage` if nothing fits
 */
async function withCredentials(
  connection: ServiceConnection,
  asked: AuthorizedRequest,
  refused?: string,
): Promise<TransportRequest> {
  const { transport, note } = connection;
  const { what, as, attempts: _, once: _once, ...request } = asked;
  const credentials = as === 'anyone' ? undefined : await connection.basic?.();
  const headers = { ...request.headers, ...(credentials && { authorization: basicAuthorization(credentials) }) };
  if (as !== 'researcher') return { ...request, headers };
  const withVisa = (visa: string) => ({ ...request, headers: { ...headers, [visaHeader]: visa } });
  const bytesWith = (visa: string) => transport.headerBytes(withVisa(visa));
  const fits = (visa: string) => bytesWith(visa) <= limits.requestHeaderBytes;
  const visa = (await connection.visa(refused)).trim();
  if (fits(visa)) return withVisa(visa);
  const chosen = outboxVisa(visa, fits);
  if (!chosen) {
    const all = `${bytesWith(visa)} bytes of headers are more than the ${limits.requestHeaderBytes} that a gateway takes`;
    throw new ClientError('usage', `${what}: ${all}; ${visaHeader} has ${visa.length}`, { remedy: fewerHeaders });
  }
  note(chosen.note);
  return withVisa(chosen.visa);
}

/** The value of an `Authorization` header for HTTP Basic (RFC 7617). */
export function basicAuthorization({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}
