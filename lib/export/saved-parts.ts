import type { Clock, UploadedPart } from '../archive/ports.ts';
import type { PartRecord } from '../archive/write-container.ts';
import { TemporarilyUnavailableError } from '../errors.ts';

/** Parts that one write of the record saves, and the longest time, in milliseconds, that a part waits for it. */
const batchSize = 50;
const longestWaitMs = 30_000;

export interface SavedPartsOptions {
  /** Parts that were saved before. */
  readonly done: readonly UploadedPart[];
  /** Resolves to `false` when another delivery goes on with the copy. */
  readonly save: (parts: readonly UploadedPart[]) => Promise<boolean>;
  /** Whether the invocation ends soon: then each part is saved at once. */
  readonly endsSoon: () => boolean;
  readonly now: Clock;
}

/** Saves the parts of a copy in batches, one batch after the other. */
export class SavedParts implements PartRecord {
  readonly done: readonly UploadedPart[];
  readonly #options: SavedPartsOptions;
  #unsaved: UploadedPart[] = [];
  #savedAt: number;
  #saving: Promise<void> = Promise.resolve();

  constructor(options: SavedPartsOptions) {
    this.#options = options;
    this.done = options.done;
    this.#savedAt = options.now().getTime();
  }

  /** Whether this delivery has saved a part. */
  hasProgress = false;

  readonly add = async (part: UploadedPart): Promise<void> => {
    this.#unsaved.push(part);
    const waited = this.#options.now().getTime() - this.#savedAt;
    if (this.#unsaved.length >= batchSize || waited >= longestWaitMs || this.#options.endsSoon()) await this.flush();
  };

  /** Save all parts that are not saved yet. @throws TemporarilyUnavailableError also when another delivery goes on */
  flush(): Promise<void> {
    this.#saving = this.#saving.then(() => this.#save());
    return this.#saving;
  }

  async #save(): Promise<void> {
    const batch = this.#unsaved;
    if (batch.length === 0) return;
    this.#unsaved = [];
    this.#savedAt = this.#options.now().getTime();
    if (!(await this.#options.save(batch))) {
      throw new TemporarilyUnavailableError('another delivery of this message goes on with the copy');
    }
    this.hasProgress = true;
  }
}
