import { ClientError } from '../../errors.ts';
import { fileNamesPerRequest, type Location, type ProxyApi } from '../../proxy.ts';

/** An address that knows how long it can be used. */
export interface TimedLocation extends Location {
  /** Whether there is time enough left for a request. */
  isFresh(): boolean;
  /** Set once storage has refused it. */
  dropped: boolean;
}

/** What gives addresses: one at a time, or many at once as well. */
type Source = Pick<ProxyApi, 'location'> & Partial<Pick<ProxyApi, 'locations'>>;

/** Files whose addresses are asked for together. */
interface Group {
  readonly names: Set<string>;
  readonly found: Promise<ReadonlyMap<string, TimedLocation>>;
  readonly ask: () => void;
}

/** No request begins this shortly before an address expires, or in the last quarter of a shorter life. */
const marginMs = 30_000;
/** How a service answers, or a gateway before it, that has no addresses of many files at once: as an older version has none. */
const unknown: ReadonlySet<string> = new Set(['usage', 'forbidden', 'not_found', 'protocol']);

/** Asks for addresses, many of them ahead and at once: a small file then costs one round trip, not two. */
export class Locations {
  readonly #source: Source;
  readonly #ahead = new Map<string, Promise<TimedLocation>>();
  #group: Group | undefined;
  /** Whether the source gives many at once, as far as known. */
  #givesMany: boolean;

  constructor(source: Source) {
    this.#source = source;
    this.#givesMany = source.locations !== undefined;
  }

  /** Asks ahead for an address that will be needed next. `get` throws the error of a request that fails. */
  prepare(name: string, signal: AbortSignal | undefined): void {
    if (this.#ahead.has(name)) return;
    const group = this.#group ?? this.#newGroup(signal);
    this.#group = group;
    group.names.add(name);
    const asked = group.found.then((found) => found.get(name) ?? this.#one(name, signal));
    asked.catch(() => undefined);
    this.#ahead.set(name, asked);
    if (group.names.size >= fileNamesPerRequest) this.#askForGroup();
  }

  /** A fresh address. @throws errors of `ProxyApi.location` */
  async get(name: string, signal: AbortSignal | undefined): Promise<TimedLocation> {
    const ahead = this.#ahead.get(name);
    this.#ahead.delete(name);
    // So that the next addresses come while those at hand are used.
    if (this.#group && (this.#group.names.has(name) || this.#group.names.size * 2 >= this.#ahead.size))
      this.#askForGroup();
    const location = await ahead;
    return location?.isFresh() ? location : this.#one(name, signal);
  }

  #newGroup(signal: AbortSignal | undefined): Group {
    const names = new Set<string>();
    const { promise, resolve: ask } = Promise.withResolvers<void>();
    const found = promise.then(() => this.#many([...names], signal));
    return { names, found, ask };
  }

  #askForGroup(): void {
    this.#group?.ask();
    this.#group = undefined;
  }

  /** Addresses of files, as far as the source gives them at once; the others are asked for one by one. */
  async #many(names: readonly string[], signal: AbortSignal | undefined): Promise<ReadonlyMap<string, TimedLocation>> {
    if (!this.#givesMany || names.length === 1) return new Map();
    const asked = performance.now();
    try {
      const found = (await this.#source.locations?.(names, { signal })) ?? [];
      return new Map(Array.from(found, ([name, location]) => [name, timed(location, asked)]));
    } catch (error) {
      if (!(error instanceof ClientError && unknown.has(error.code))) throw error;
      this.#givesMany = false;
      return new Map();
    }
  }

  async #one(name: string, signal: AbortSignal | undefined): Promise<TimedLocation> {
    const asked = performance.now();
    return timed(await this.#source.location(name, { signal }), asked);
  }
}

/** @param asked when the request was sent, by `performance.now` */
function timed(location: Location, asked: number): TimedLocation {
  // The lifetime is by the service's clock, and is counted here by a stopwatch: this machine's clock may be wrong.
  const { lifetimeMs } = location;
  const end = asked + lifetimeMs - Math.min(marginMs, lifetimeMs / 4);
  return { ...location, isFresh: () => performance.now() < end, dropped: false };
}
