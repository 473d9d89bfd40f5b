import { UnavailableError } from '../../errors.ts';
import { retryAfterMs } from '../../retry.ts';
import type { Transport, TransportReply } from '../../transport.ts';
import type { Locations, TimedLocation } from './locations.ts';
import {
  ChangedError,
  checkedReply,
  type RangeRequest,
  type RemoteFile,
  type RemoteReply,
  rangeHeaders,
} from './remote-file.ts';

/** Statuses that S3 gives when an address, or the session that signed it, has expired. */
const refusals = new Set([400, 401, 403]);
/** Most addresses in a row that storage may refuse. */
const mostAddresses = 3;

/** A staged container, served by storage at addresses that the proxy gives. */
export class StagedFile implements RemoteFile {
  readonly name: string;
  readonly modified: Date | undefined;
  #size: number;
  readonly #locations: Locations;
  readonly #transport: Transport;
  #location: Promise<TimedLocation> | undefined;

  constructor(options: {
    readonly name: string;
    readonly size: number;
    readonly modified?: Date | undefined;
    readonly locations: Locations;
    readonly transport: Transport;
  }) {
    this.name = options.name;
    this.modified = options.modified;
    this.#size = options.size;
    this.#locations = options.locations;
    this.#transport = options.transport;
  }

  /** From the listing, until the service gives another size. */
  get size(): number {
    return this.#size;
  }

  async get({ range, known, signal }: RangeRequest): Promise<RemoteReply> {
    const { name } = this;
    for (let addresses = 1; ; addresses += 1) {
      const location = await this.#current(signal);
      if (location.size !== (known?.size ?? this.#size)) {
        this.#drop(location);
        this.#size = location.size;
        throw new ChangedError(name);
      }
      // Storage gets no credentials of the user but those in the URL.
      const reply = await this.#transport.send({ url: location.url, headers: rangeHeaders(range, known), signal });
      if (reply.status < 300 || reply.status === 412 || reply.status === 416) {
        try {
          return await checkedReply(reply, { name, range, known, size: location.size });
        } catch (error) {
          if (error instanceof ChangedError) this.#drop(location);
          throw error;
        }
      }
      const refused = refusals.has(reply.status) || reply.status === 404;
      const error = await this.#failure(reply);
      if (!refused) throw error;
      // The proxy knows whether the file still exists.
      this.#drop(location);
      if (addresses >= mostAddresses) throw error;
    }
  }

  async #current(signal: AbortSignal | undefined): Promise<TimedLocation> {
    const held = await this.#location?.catch(() => undefined);
    if (held?.isFresh()) return held;
    if (held !== undefined) this.#drop(held);
    this.#location ??= this.#locations.get(this.name, signal);
    const asked = this.#location;
    try {
      return await asked;
    } catch (error) {
      if (this.#location === asked) this.#location = undefined;
      throw error;
    }
  }

  /** Another connection may have replaced it already. */
  #drop(location: TimedLocation): void {
    if (location.dropped) return;
    location.dropped = true;
    this.#location = undefined;
  }

  async #failure(reply: TransportReply): Promise<UnavailableError> {
    const { status } = reply;
    await reply.discard();
    const after = reply.header('retry-after');
    return new UnavailableError(`${this.name}: storage answered with status ${status}`, {
      retryAfterMs: retryAfterMs(after, this.#transport.timing.now()),
      remedy: refusals.has(status)
        ? 'Tell the operator: storage refuses addresses that the service has just made.'
        : 'Run the same command again later.',
    });
  }
}
