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

/** Why a request is refused. */
export interface Refusal {
  readonly status: 403 | 404 | 421;
  readonly code: string;
  readonly detail: string;
}

/** Decides on each request before anything else looks at it. */
export class Gatekeeper {
  readonly #admission: Admission;
  readonly #port: number;
  readonly #owners = new WeakMap<object, Promise<number | undefined>>();

  constructor(admission: Admission, port: number) {
    this.#admission = admission;
    this.#port = port;
  }

  /** The origin of the page that asks, if it is one of those that the user has named. */
  allowedOrigin({ headers: { origin } }: IncomingMessage): string | undefined {
    return origin !== undefined && this.#admission.origins.includes(origin) ? origin : undefined;
  }

  /** @param segments of the path, the token first */
  async refusal(request: IncomingMessage, segments: readonly string[]): Promise<Refusal | undefined> {
    const { headers } = request;
    const hosts = [`127.0.0.1:${this.#port}`, `localhost:${this.#port}`];
    // A name that another party resolves to 127.0.0.1 makes its page same-origin here (DNS rebinding).
    if (!hosts.includes(headers.host ?? '')) {
      return { status: 421, code: 'wrong_host', detail: `Use ${hosts[0]} as the host.` };
    }
    const { origin, 'sec-fetch-site': site } = headers;
    // With a picture or a script no Origin comes, but newer browsers say whose page has it (Fetch Metadata § 2.4).
    const isForeign =
      origin === undefined
        ? !['none', 'same-origin', undefined].includes(site?.toString())
        : !hosts.some((host) => origin === `http://${host}`);
    if (isForeign && this.allowedOrigin(request) === undefined) {
      return {
        status: 403,
        code: 'foreign_page',
        detail: 'Pages of this origin may not read here; see --allow-origin.',
      };
    }
    const { ownerOf, user } = this.#admission;
    if (ownerOf && (await this.#ownerOf(request.socket, ownerOf)) !== user) {
      return { status: 403, code: 'other_user', detail: 'This address serves only the user who started it.' };
    }
    if (!isSame(segments[0] ?? '', this.#admission.token)) {
      return { status: 404, code: 'not_found', detail: 'There is nothing at this path.' };
    }
    return undefined;
  }

  #ownerOf(socket: IncomingMessage['socket'], look: NonNullable<Admission['ownerOf']>): Promise<number | undefined> {
    const { remoteAddress: clientAddress = '', remotePort: clientPort = 0 } = socket;
    const owner = this.#owners.get(socket) ?? look({ clientAddress, clientPort, serverPort: this.#port });
    this.#owners.set(socket, owner);
    return owner;
  }
}

function isSame(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}
