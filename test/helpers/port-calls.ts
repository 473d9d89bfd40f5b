/** The invocation is gone: whatever it still tries has no effect. */
export class CrashError extends Error {
  override name = 'CrashError';
}

type Trouble = { readonly at: number; readonly when: 'before' | 'after'; readonly error?: Error };

/**
 * Every call that fakes of the ports receive, in order, and trouble at one of them.
 *
 * `crash`: the process dies before or after the effect of the n-th call; all later calls of it are also without effect.
 * `fail`: that call alone throws.
 */
export class PortCalls {
  readonly names: string[] = [];
  readonly #happenings = new Map<string, () => unknown>();
  #trouble: Trouble | undefined;
  #dead = false;

  /** Die at the n-th call from now (0 = the next one). */
  crashAt(n: number, when: 'before' | 'after'): void {
    this.#trouble = { at: this.names.length + n, when };
  }

  /** Let the n-th call from now throw `error`, and nothing else. */
  failAt(n: number, when: 'before' | 'after', error: Error): void {
    this.#trouble = { at: this.names.length + n, when, error };
  }

  /** Let something happen once, right after the next call of this name. */
  after(name: string, happening: () => unknown): void {
    this.#happenings.set(name, happening);
  }

  /** Whether the invocation has not died. */
  get isAlive(): boolean {
    return !this.#dead;
  }

  /** A new invocation. Trouble that is still to come stays. @returns whether the last one met its trouble */
  revive(): boolean {
    const met = this.#trouble === undefined || this.names.length > this.#trouble.at;
    if (met) this.#trouble = undefined;
    this.#dead = false;
    return met;
  }

  async run<T>(name: string, effect: () => T | Promise<T>): Promise<T> {
    // Ports are remote: nothing they do happens in the caller's own turn.
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (this.#dead) throw new CrashError(`${name} after the end of the invocation`);
    const trouble = this.#trouble?.at === this.names.length ? this.#trouble : undefined;
    this.names.push(name);
    if (trouble?.when === 'before') this.#raise(name, trouble);
    const value = await effect();
    const happening = this.#happenings.get(name);
    this.#happenings.delete(name);
    await happening?.();
    if (trouble?.when === 'after') this.#raise(name, trouble);
    return value;
  }

  #raise(name: string, { error }: Trouble): never {
    if (error) throw error;
    this.#dead = true;
    throw new CrashError(`died in ${name}`);
  }
}
