/** The keys of a bucket in the order in which S3 lists them: by their UTF-8 bytes. */
export class SortedKeys {
  #keys: string[] = [];

  fill(keys: Iterable<string>): void {
    this.#keys = [...keys].sort(compareUtf8);
  }

  add(key: string): void {
    this.#keys.splice(this.#position(key), 0, key);
  }

  delete(key: string): void {
    const at = this.#position(key);
    if (this.#keys[at] === key) this.#keys.splice(at, 1);
  }

  /** Keys that begin with `prefix` and come after `after`, in order. */
  *from(prefix: string, after: string): Generator<string> {
    const least = compareUtf8(after, prefix) < 0 ? prefix : after;
    for (let at = this.#position(least); at < this.#keys.length; at += 1) {
      const key = this.#keys[at] ?? '';
      if (!key.startsWith(prefix)) return;
      if (compareUtf8(key, after) > 0 || after === '') yield key;
    }
  }

  /** Where the key is, or would be. */
  #position(key: string): number {
    let [low, high] = [0, this.#keys.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareUtf8(this.#keys[middle] ?? '', key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Order of two texts by their UTF-8 bytes. */
export function compareUtf8(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
