import { asBuffer } from '../bytes.ts';

/**
 * Values by public key. A value is kept only when its key comes for the second time: most keys come once, and to keep their
 * values would cost more than it saves.
 */
export class RepeatedKeys<Value extends object> {
  readonly #maximum: number;
  /** `undefined`: the key has come once. Keys are in the order of their last use. */
  readonly #values = new Map<string, Value | undefined>();

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  /** The value for this key, from `make` if none is kept. */
  get(publicKey: Uint8Array, make: () => Value): Value {
    const name = asBuffer(publicKey).toString('latin1');
    const isAgain = this.#values.has(name);
    const value = this.#values.get(name) ?? make();
    // The key used last stands last; the first one makes room.
    this.#values.delete(name);
    this.#values.set(name, isAgain ? value : undefined);
    if (this.#values.size > this.#maximum) {
      const [oldest] = this.#values.keys();
      if (oldest !== undefined) this.#values.delete(oldest);
    }
    return value;
  }
}
