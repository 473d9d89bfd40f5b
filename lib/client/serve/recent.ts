/** What was made lately, by name: the entries used last, each for a time. Entries that fail are not kept. */
export class Recent<Value> {
  readonly #limits: { readonly most: number; readonly milliseconds: number };
  readonly #now: () => number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, { readonly value: Promise<Value>; readonly until: number }>();

  /** @param now milliseconds by any clock */
  constructor(limits: { readonly most: number; readonly milliseconds: number }, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** The entry of that name, from `make` unless it is kept. Those who ask at the same time share it. */
  get(name: string, make: () => Promise<Value>): Promise<Value> {
    const kept = this.peek(name);
    if (kept !== undefined) return kept;
    const value = make();
    const entry = { value, until: this.#now() + this.#limits.milliseconds };
    this.#entries.set(name, entry);
    value.catch(() => this.#entries.get(name) === entry && this.#entries.delete(name));
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#limits.most && oldest !== undefined) this.#entries.delete(oldest);
    return value;
  }

  /** The entry of that name, if it is kept. */
  peek(name: string): Promise<Value> | undefined {
    const entry = this.#entries.get(name);
    this.#entries.delete(name);
    if (entry === undefined || entry.until <= this.#now()) return undefined;
    this.#entries.set(name, entry);
    return entry.value;
  }

  delete(name: string): void {
    this.#entries.delete(name);
  }
}
