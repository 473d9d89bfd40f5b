import type { Location, ProxyApi } from '../proxy.ts';

/** An address, and whether there is time enough left to begin with it. */
export interface TimedLocation extends Location {
  isFresh(): boolean;
  /** Set by who found it refused. */
  dropped: boolean;
}

/** An address that expires within this time is not begun with. Of one that lives shortly, a quarter of its life. */
const marginMs = 30_000;

/** Asks for addresses, some of them before they are needed: then a small file costs one round trip, not two. */
export class Locations {
  readonly #proxy: Pick<ProxyApi, 'location'>;
  readonly #ahead = new Map<string, Promise<TimedLocation>>();

  constructor(proxy: Pick<ProxyApi, 'location'>) {
    this.#proxy = proxy;
  }

  /** Asks for addresses that will be needed next. What fails is told to who needs it. */
  prepare(names: Iterable<string>, signal: AbortSignal | undefined): void {
    for (const name of names) {
      if (this.#ahead.has(name)) continue;
      const asked = this.#ask(name, signal);
      asked.catch(() => undefined);
      this.#ahead.set(name, asked);
    }
  }

  /** An address that is fresh. @throws what `ProxyApi.location` throws */
  async get(name: string, signal: AbortSignal | undefined): Promise<TimedLocation> {
    const ahead = this.#ahead.get(name);
    this.#ahead.delete(name);
    const location = await ahead;
    return location?.isFresh() ? location : this.#ask(name, signal);
  }

  async #ask(name: string, signal: AbortSignal | undefined): Promise<TimedLocation> {
    const asked = performance.now();
    const location = await this.#proxy.location(name, { signal });
    // By the service's clock and this machine's stopwatch: its clock may be wrong.
    const { lifetimeMs } = location;
    const end = asked + lifetimeMs - Math.min(marginMs, lifetimeMs / 4);
    return { ...location, isFresh: () => performance.now() < end, dropped: false };
  }
}
