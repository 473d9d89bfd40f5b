import type { Timing } from '../../contract/timing.ts';
import { bootId } from './boot.ts';
import { type Form, removeJournal, writeJournal } from './journal.ts';
import type { PartFile } from './part-file.ts';
import type { ByteRange, RangeSet } from './range-set.ts';
import { isRecognizable, type ObjectVersion } from './remote-file.ts';

/** What may have to be fetched again when the process is killed: so many bytes, or the bytes of so many milliseconds. */
const noteBytes = 32 * 1024 * 1024;
const noteMs = 1_000;
/** The same for when the machine goes down: waiting for the disk costs more. */
const syncBytes = 256 * 1024 * 1024;
const syncMs = 5_000;

/** Writes down what of a part file is there, while it grows. A small file is whole before the first time. */
export class Checkpoints {
  readonly #part: PartFile;
  readonly #path: string;
  readonly #timing: Timing;
  readonly #about: { readonly name: string; readonly form: Form };
  #bytes = 0;
  #last: number;
  #unsyncedBytes = 0;
  #lastSync: number;
  #synced: readonly ByteRange[];
  #running: Promise<void> | undefined;
  #written: boolean;

  /** @param options.exists whether there is a journal already */
  constructor(options: {
    readonly part: PartFile;
    readonly path: string;
    readonly timing: Timing;
    readonly name: string;
    readonly form: Form;
    readonly exists: boolean;
    /** What is on the disk for good from runs before. */
    readonly synced: readonly ByteRange[];
  }) {
    const { part, path, timing, name, form, exists } = options;
    this.#part = part;
    this.#path = path;
    this.#timing = timing;
    this.#about = { name, form };
    this.#written = exists;
    this.#synced = options.synced;
    this.#last = timing.now().getTime();
    this.#lastSync = this.#last;
  }

  /** Tells of more bytes that are written; now and then begins to write the journal, and does not wait for it. */
  note(bytes: number, version: ObjectVersion, done: RangeSet): void {
    this.#bytes += bytes;
    this.#unsyncedBytes += bytes;
    const now = this.#timing.now().getTime();
    if (this.#running || (this.#bytes < noteBytes && now - this.#last < noteMs)) return;
    const sync = this.#unsyncedBytes >= syncBytes || now - this.#lastSync >= syncMs;
    this.#last = now;
    if (sync) this.#lastSync = now;
    this.#running = this.#save(version, done, sync).finally(() => {
      this.#running = undefined;
    });
    // A disk that fails here fails for the next write, or at the end, too.
    this.#running.catch(() => undefined);
  }

  /** Whether there is a journal on the disk. */
  get exists(): boolean {
    return this.#written;
  }

  /** Waits for what {@link note} has begun. */
  async settle(): Promise<void> {
    await this.#running?.catch(() => undefined);
  }

  /** Writes down all that is done. @throws LocalDiskError */
  async save(version: ObjectVersion, done: RangeSet): Promise<void> {
    await this.settle();
    await this.#save(version, done, true);
  }

  /** The part is to be forgotten: the journal goes first, so that it never speaks of other bytes. @throws LocalDiskError */
  async forget(): Promise<void> {
    await this.settle();
    if (this.#written) await removeJournal(this.#path);
    this.#written = false;
  }

  async #save(version: ObjectVersion, done: RangeSet, sync: boolean): Promise<void> {
    // Bytes that cannot be told from others' are not gone on with.
    if (!isRecognizable(version)) return;
    const { ranges } = done.copy();
    this.#bytes = 0;
    if (sync) {
      this.#unsyncedBytes = 0;
      await this.#part.sync();
      this.#synced = ranges;
    }
    this.#written = true;
    const journal = { ...this.#about, version, done: ranges, synced: this.#synced, boot: bootId };
    await writeJournal(this.#path, journal, { sync });
  }
}
