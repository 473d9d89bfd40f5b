import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { LoopbackConnection } from './connection-owner.ts';

/** Who may read. */
export interface Admission {
  /** First segment of each path; a secret of this run. */
  readonly token: string;
  /** Origins, such as `https://igv.org`, whose pages may read. */
  readonly origins: readonly string[];
  /** Gives the user at the other end of a connection; `undefined`: this system does not tell. */
  readonly ownerOf: ((connection: LoopbackConnection) => Promise<number | undefined>) | undefined;
  /** The user whom connections must belong to. */
  readonly user: number;
}

/** Decides on each request before anything else looks at it. */
export function gatekeeper({ token, origins, ownerOf, user }: Admission, port: number) {
  const owners = new WeakMap<object, Promise<number | undefined> | undefined>();
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  const ownerAt = (socket: IncomingMessage['socket']) => {
    const { remoteAddress: clientAddress = '', remotePort: clientPort = 0 } = socket;
    if (!owners.has(socket)) owners.set(socket, ownerOf?.({ clientAddress, clientPort, serverPort: port }));
    return owners.get(socket);
  };
  /** The origin of the page that asks, if it is one of those that the user has named. */
  const allowedOrigin = ({ headers: { origin } }: IncomingMessage) =>
    origin !== undefined && origins.includes(origin) ? origin : undefined;
  return {
    allowedOrigin,

    /** @param given first segment of the path @returns status, code and detail of a refusal */
    async refusal(request: IncomingMessage, given: string): Promise<[number, string, string] | undefined> {
      const { host = '', origin, 'sec-fetch-site': site } = request.headers;
      // A name that another party resolves to 127.0.0.1 makes its page same-origin here (DNS rebinding).
      if (!hosts.includes(host)) return [421, 'wrong_host', `Use ${hosts[0]} as the host.`];
      // With a picture or a script no Origin comes, but newer browsers say whose page has it (Fetch Metadata § 2.4).
      const isForeign =
        origin === undefined
          ? !['none', 'same-origin', undefined].includes(site?.toString())
          : !hosts.some((name) => origin === `http://${name}`);
      if (isForeign && allowedOrigin(request) === undefined) {
        return [403, 'foreign_page', 'Pages of this origin may not read here; see --allow-origin.'];
      }
      if (ownerOf && (await ownerAt(request.socket)) !== user) {
        return [403, 'other_user', 'This address serves only the user who started it.'];
      }
      return isSame(given, token) ? undefined : [404, 'not_found', nothing];
    },
  };
}

export const nothing = 'There is nothing at this path.';

function isSame(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}
