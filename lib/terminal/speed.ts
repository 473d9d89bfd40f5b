/** Milliseconds. Older bytes are ignored. A pause as long as this restarts the measurement. */
const windowMs = 15_000;
/** Milliseconds. A shorter measurement is useless. */
const settledMs = 2_000;
/** Milliseconds between two marks. */
const markMs = 250;

/** The speed of some work in its last seconds. Times are in milliseconds. */
export class Speed {
  #bytes = 0;
  #last: number;
  /** Marks since the beginning of the window. */
  #marks: { readonly at: number; readonly bytes: number }[];

  constructor(now: number) {
    this.#last = now;
    this.#marks = [{ at: now, bytes: 0 }];
  }

  /** @param bytes done now; negative ones, which have to be done again, are ignored */
  add(bytes: number, now: number): void {
    this.#bytes += Math.max(0, bytes);
    const mark = { at: now, bytes: this.#bytes };
    if (now - this.#last >= windowMs) this.#marks = [mark];
    else if (now - (this.#marks.at(-1)?.at ?? 0) >= markMs) this.#marks.push(mark);
    this.#last = now;
    this.#forget(now - windowMs);
  }

  /** Bytes per second; `undefined` if it was not measured for long enough. */
  at(now: number): number | undefined {
    this.#forget(now - windowMs);
    if (now - this.#last >= windowMs) return 0;
    const [first] = this.#marks;
    if (first === undefined || now - first.at < settledMs) return undefined;
    return ((this.#bytes - first.bytes) / (now - first.at)) * 1000;
  }

  /** Forgets earlier marks except the last one. */
  #forget(before: number): void {
    while ((this.#marks[1]?.at ?? Number.POSITIVE_INFINITY) <= before) this.#marks.shift();
  }
}
