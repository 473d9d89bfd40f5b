import type { Entry } from './entry.ts';
import type { SealedRequest, Settlement } from './ports.ts';

/** Counts what the entries of a request say. */
export class Tally {
  staged = 0;
  stagedBytes = 0;
  missing = 0;
  #withdrawn = 0;

  add(entry: Entry): void {
    if ('file' in entry) {
      this.staged += 1;
      this.stagedBytes += entry.file.size;
    } else {
      this.missing += 1;
      if (entry.missing.reason === 'withdrawn') this.#withdrawn += 1;
    }
  }

  /** How the request ended. A fan-out that was given up may lack files that the log does not know: it stays `failed`. */
  settlement({ state }: Pick<SealedRequest, 'state'>): Settlement {
    const { staged, stagedBytes } = this;
    if (state === 'failed') return { state, staged, stagedBytes };
    const isWithdrawn = this.missing > 0 && this.missing === this.#withdrawn;
    const settled = this.missing === 0 ? 'complete' : isWithdrawn ? 'withdrawn' : 'incomplete';
    return { state: settled, staged, stagedBytes };
  }
}
