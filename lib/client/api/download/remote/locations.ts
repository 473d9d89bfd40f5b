import type { Location, ProxyApi } from '../../proxy.ts';

/** An address that knows how long it can be used. */
export interface TimedLocation extends Location {
  /** Whether there is time enough left for a request. */
  isFresh(): boolean;
  /** Set once storage has refused it. */
  dropped: boolean;
}

/** No request begins this shortly before an address expires, or in the last quarter of a shorter life. */
const marginMs = 30_000;

/** Asks for addresses, some of them ahead: a small file then costs one round trip, not two. */
export class Locations {
  readonly #proxy: Pick<ProxyApi, 'location'>;
  readonly #ahead = new Map<string, Promise<TimedLocation>>();

  constructor(proxy: Pick<ProxyApi, 'location'>) {
    this.#proxy = proxy;
  }

  /** Asks ahead for an address that will be needed next. `get` throws the error of a request that fails. */
  prepare(name: string, signal: AbortSignal | undefined): void {
    if (this.#ahead.has(name)) return;
    const asked = this.#ask(name, signal);
    asked.catch(() => undefined);
    this.#ahead.set(name, asked);
  }

  /** A fresh address. @throws errors of `ProxyApi.location` */
  async get(name: string, signal: AbortSignal | undefined): Promise<TimedLocation> {
    const ahead = this.#ahead.get(name);
    this.#ahead.delete(name);
    const location = await ahead;
    return location?.isFresh() ? location : this.#ask(name, signal);
  }

  async #ask(name: string, signal: AbortSignal | undefined): Promise<TimedLocation> {
    const asked = performance.now();
    const location = await this.#proxy.location(name, { signal });
    // The lifetime is by the service's clock, and is counted here by a stopwatch: this machine's clock may be wrong.
    const { lifetimeMs } = location;
    const end = asked + lifetimeMs - Math.min(marginMs, lifetimeMs / 4);
    return { ...location, isFresh: () => performance.now() < end, dropped: false };
  }
}
