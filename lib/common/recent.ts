/** How much is kept, and for how long. */
export interface RecentLimits<Value> {
  /** Most of what {@link size} measures, of all entries together. */
  readonly most: number;
  /** What an entry counts once it is made. Default: 1 */
  readonly size?: (value: Value) => number;
  /** Default: for ever */
  readonly milliseconds?: number;
  /** Milliseconds by any clock; needed with `milliseconds`. */
  readonly now?: () => number;
}

interface Entry<Value> {
  readonly value: Promise<Value>;
  readonly until: number;
  size: number;
}

/** What was made lately, by name; the entries used longest ago go first. Entries that fail are not kept. */
export class Recent<Value> {
  readonly #limits: Required<RecentLimits<Value>>;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry<Value>>();
  #size = 0;

  constructor(limits: RecentLimits<Value>) {
    this.#limits = { size: () => 1, milliseconds: Number.POSITIVE_INFINITY, now: () => 0, ...limits };
  }

  /** The entry of that name, from `make` unless it is kept. Those who ask at the same time share it. */
  get(name: string, make: () => Promise<Value>): Promise<Value> {
    return this.peek(name) ?? this.set(name, make());
  }

  /** The entry of that name, if it is kept. */
  peek(name: string): Promise<Value> | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    if (entry.until > this.#limits.now()) return entry.value;
    this.delete(name);
    return undefined;
  }

  /** Keeps an entry. One that alone is larger than everything that may be kept is not kept once it is made. */
  set(name: string, made: Value | Promise<Value>): Promise<Value> {
    this.delete(name);
    const value = Promise.resolve(made);
    const entry: Entry<Value> = { value, until: this.#limits.now() + this.#limits.milliseconds, size: 0 };
    this.#entries.set(name, entry);
    value.then(
      (result) => this.#made(entry, name, this.#limits.size(result)),
      () => this.#entries.get(name) === entry && this.delete(name),
    );
    return value;
  }

  delete(name: string): void {
    this.#size -= this.#entries.get(name)?.size ?? 0;
    this.#entries.delete(name);
  }

  #made(entry: Entry<Value>, name: string, size: number): void {
    if (this.#entries.get(name) !== entry) return;
    entry.size = size;
    this.#size += size;
    if (size > this.#limits.most) this.delete(name);
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#limits.most) return;
      this.delete(oldest);
    }
  }
}

/** Results that are quick to make again, by what they were made of. When it is full, it forgets all of them. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #most: number;

  /** @param most entries, at least 1 */
  constructor(most: number) {
    super();
    this.#most = most;
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.#most && !this.has(key)) this.clear();
    return super.set(key, value);
  }
}
