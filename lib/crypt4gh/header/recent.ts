import { asBuffer } from '../bytes.ts';

/**
 * Values by public key, for those keys that come again: most come only once, and keeping what was made for them costs
 * more than it saves. So a value is kept from the second time on.
 */
export class Recent<Value extends object> {
  readonly #maximum: number;
  /** `undefined`: the key has come once. */
  readonly #values = new Map<string, Value | undefined>();

  /** @param maximum keys that are remembered; those used last are. */
  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  /** The value for this key, from `make` when none is kept. */
  get(publicKey: Uint8Array, make: () => Value): Value {
    const name = asBuffer(publicKey).toString('latin1');
    const isAgain = this.#values.has(name);
    const value = this.#values.get(name) ?? make();
    // What was used last stands last; the first makes room.
    this.#values.delete(name);
    this.#values.set(name, isAgain ? value : undefined);
    if (this.#values.size > this.#maximum) {
      const [oldest] = this.#values.keys();
      if (oldest !== undefined) this.#values.delete(oldest);
    }
    return value;
  }
}
