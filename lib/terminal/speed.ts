/** Milliseconds. Bytes that came before count no more. A pause as long as this begins the measurement anew. */
const windowMs = 15_000;
/** Milliseconds after such a pause. What piled up meanwhile comes at once, and does not count. */
const burstMs = 1_000;
/** Milliseconds. A shorter measurement says nothing. */
const settledMs = 2_000;
/** Milliseconds between two marks. */
const markMs = 250;

interface Mark {
  readonly at: number;
  readonly bytes: number;
}

/** The speed of some work in its last seconds. Times are in milliseconds. */
export class Speed {
  #bytes = 0;
  #last: number;
  #burstEnds = Number.NEGATIVE_INFINITY;
  /** From the beginning of the window on. */
  #marks: Mark[];

  constructor(now: number) {
    this.#last = now;
    this.#marks = [{ at: now, bytes: 0 }];
  }

  /** @param bytes done now; those that have to be done again, which are negative, do not count */
  add(bytes: number, now: number): void {
    if (now - this.#last >= windowMs) this.#burstEnds = now + burstMs;
    this.#last = now;
    this.#bytes += Math.max(0, bytes);
    const mark = { at: now, bytes: this.#bytes };
    if (now < this.#burstEnds) this.#marks = [mark];
    else if (now - (this.#marks.at(-1)?.at ?? 0) >= markMs) this.#marks.push(mark);
    this.#forget(now - windowMs);
  }

  /** Bytes a second; `undefined` if it was not measured for long enough. */
  at(now: number): number | undefined {
    this.#forget(now - windowMs);
    if (now - this.#last >= windowMs) return 0;
    const [first] = this.#marks;
    if (first === undefined || now - first.at < settledMs) return undefined;
    return ((this.#bytes - first.bytes) / (now - first.at)) * 1000;
  }

  /** Forgets what was before, but for the last mark. */
  #forget(before: number): void {
    while ((this.#marks[1]?.at ?? Number.POSITIVE_INFINITY) <= before) this.#marks.shift();
  }
}
