import { ClientError, UnavailableError } from '../../errors.ts';
import { fileNamesPerRequest, type Location, type ProxyApi } from '../../proxy.ts';

/** An address that knows how long it can be used. */
export interface TimedLocation extends Location {
  /** Whether there is time enough left for a request. */
  isFresh(): boolean;
  /** Set once storage has refused it. */
  dropped: boolean;
}

/** Gives addresses one at a time, and possibly many at once. */
type Source = Pick<ProxyApi, 'location'> & Partial<Pick<ProxyApi, 'locations'>>;

/** Files whose addresses are asked for together. */
interface Group {
  readonly names: Set<string>;
  readonly found: Promise<ReadonlyMap<string, TimedLocation>>;
  readonly ask: () => void;
}

/** No request begins this shortly before an address expires, or in the last quarter of a shorter life. */
const marginMs = 30_000;
/** After so many failures in a row, no addresses are asked for together. */
const mostFailures = 2;

/** Asks for addresses. A source that gives many at once is asked ahead: a small file then costs one round trip, not two. */
export class Locations {
  readonly #source: Source;
  readonly #ahead = new Map<string, Promise<TimedLocation | undefined>>();
  #group: Group | undefined;
  #askMany: Source['locations'];
  #failures = 0;

  constructor(source: Source) {
    this.#source = source;
    this.#askMany = source.locations?.bind(source);
  }

  /** Whether the source gives many at once, as far as known. */
  get givesMany(): boolean {
    return this.#askMany !== undefined;
  }

  /** Asks ahead for an address that will be needed next, if the source gives many at once. `get` throws what goes wrong. */
  prepare(name: string, signal: AbortSignal | undefined): void {
    if (!this.givesMany || this.#ahead.has(name)) return;
    const group = this.#group ?? this.#newGroup(signal);
    this.#group = group;
    group.names.add(name);
    if (group.names.size >= fileNamesPerRequest) this.#askForGroup();
    // Without an address here, the file is asked for alone.
    const asked = group.found.then((found) => found.get(name));
    asked.catch(() => undefined);
    this.#ahead.set(name, asked);
  }

  /** A fresh address. @throws errors of `ProxyApi.location` */
  async get(name: string, signal: AbortSignal | undefined): Promise<TimedLocation> {
    const ahead = this.#ahead.get(name);
    this.#ahead.delete(name);
    const { names } = this.#group ?? {};
    // So that the next addresses come while those at hand are used.
    if (names && (names.has(name) || names.size * 2 >= this.#ahead.size)) this.#askForGroup();
    const location = await ahead;
    return location?.isFresh() ? location : this.#one(name, signal);
  }

  #newGroup(signal: AbortSignal | undefined): Group {
    const names = new Set<string>();
    const { promise, resolve: ask } = Promise.withResolvers<void>();
    return { names, found: promise.then(() => this.#many([...names], signal)), ask };
  }

  #askForGroup(): void {
    this.#group?.ask();
    this.#group = undefined;
  }

  /** What the source gives at once. Whatever else it answers, each file is then asked for alone, with its own retries. */
  async #many(names: readonly string[], signal: AbortSignal | undefined): Promise<ReadonlyMap<string, TimedLocation>> {
    if (!this.#askMany || names.length === 1) return new Map();
    const asked = performance.now();
    try {
      const found = await this.#askMany(names, { signal });
      this.#failures = 0;
      return new Map(Array.from(found, ([name, location]) => [name, timed(location, asked)]));
    } catch (error) {
      if (!(error instanceof ClientError) || error.code === 'unauthenticated' || error.code === 'interrupted')
        throw error;
      this.#failures += 1;
      // An older service, or a gateway in front of it, does not know the request at all.
      const isWorthATry = error instanceof UnavailableError && this.#failures < mostFailures;
      if (!isWorthATry) this.#askMany = undefined;
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
