import * as z from 'zod/mini';
import { addressOf, authorized, type ServiceConnection } from '../connection.ts';
import { ClientError, checkAddress, ServiceError } from '../errors.ts';
import { optional, parsed, readJson, text, timeIn } from '../json.ts';
import type { TransportReply } from '../transport.ts';

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

const loginSettings = z.extend(login, { issuers: z.array(text) });
/** Where researchers sign in (the OpenID provider, this program's client id there, what to ask for), and whose visas are of use. */
export type LoginSettings = z.infer<typeof loginSettings>;

/** How a person signed in before, and the token that renews their visas. */
export const earlierSignIn = z.extend(loginSettings, { subject: z.string(), refreshToken: z.string() });
export type EarlierSignIn = z.infer<typeof earlierSignIn>;

/**
 * Reads `GET /.well-known/data-out`.
 * @param attempts default: as the transport retries
 * @returns that, and the time by the service's clock, to the second
 * @throws ClientError `protocol` if an older service, or another one, answers, `usage` if no address is set; UnavailableError
 */
export async function aboutService(
  service: ServiceConnection,
  signal: AbortSignal,
  attempts?: number,
): Promise<About & { readonly date: Date | undefined }> {
  const url = new URL('.well-known/data-out', addressOf(service));
  const request = { what: 'what the service says of itself', as: 'anyone', url, signal, attempts } as const;
  const read = async (reply: TransportReply) => {
    return { ...parsed(about, await readJson(reply)), date: timeIn(reply.header('date')) };
  };
  return await authorized(service, request, read).catch((cause: unknown) => {
    if (!(cause instanceof ServiceError || (cause instanceof ClientError && cause.code === 'protocol'))) throw cause;
    throw new ClientError('protocol', `${url.host} does not answer as a data-out service of this version`, {
      remedy: `${checkAddress} An older service needs a visa file.`,
      cause,
    });
  });
}
