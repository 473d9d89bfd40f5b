import * as z from 'zod/mini';
import { authorized, connect } from '../connection.ts';
import { ClientError, ServiceError } from '../errors.ts';
import { optional, parsed, readJson, text } from '../json.ts';
import type { Transport, TransportReply } from '../transport.ts';

const login = z.object({ issuer: text, clientId: text, scopes: z.array(text) });
const about = z.object({
  name: z.literal('data-out'),
  organization: text,
  basicRequired: z.boolean(),
  issuers: z.array(text),
  login: optional(login),
});

/** What a service says of itself before it has seen credentials. */
export type About = z.infer<typeof about>;

/** Where researchers sign in (the OpenID provider, this program's client id there, what to ask for), and whose visas are of use. */
export const loginSettings = z.extend(login, { issuers: z.array(text) });
export type LoginSettings = z.infer<typeof loginSettings>;

/**
 * Reads `GET /.well-known/data-out`.
 * @param proxyUrl its path ends in `/`
 * @param attempts default: as the transport retries
 * @throws ClientError `protocol` if an older service, or another one, answers; UnavailableError
 */
export async function aboutService(
  transport: Transport,
  proxyUrl: URL,
  signal: AbortSignal,
  attempts?: number,
): Promise<About> {
  const what = 'what the service says of itself';
  const request = { what, as: 'anyone', signal, ...(attempts !== undefined && { attempts }) } as const;
  const url = new URL('.well-known/data-out', proxyUrl);
  const read = async (reply: TransportReply) => parsed(about, await readJson(reply));
  return await authorized(connect({ transport }), { ...request, url }, read).catch((cause: unknown) => {
    if (!(cause instanceof ServiceError || (cause instanceof ClientError && cause.code === 'protocol'))) throw cause;
    throw new ClientError('protocol', `${url.host} does not answer as a data-out service of this version`, {
      remedy: 'Compare the whole address, which usually ends in /v1/, with the one that the archive gave you.',
      cause,
    });
  });
}
