import type { Timing } from '../../../../common/timing.ts';
import type { ByteRange } from '../../../../crypt4gh/index.ts';
import { isRecognizable, type ObjectVersion } from '../remote/remote-file.ts';
import { removeJournal, writeJournal } from './journal.ts';
import type { PartFile } from './part-file.ts';
import { bootId } from './processes.ts';
import type { RangeSet } from './range-set.ts';

/** The journal is written after so many bytes or milliseconds: no more is fetched again if the process is killed. */
const noteBytes = 32 * 1024 * 1024;
const noteMs = 1_000;
/** The part is synced less often, since that waits for the disk: no more is fetched again if the machine crashes. */
const syncBytes = 64 * 1024 * 1024;
const syncMs = 5_000;

interface CheckpointsOptions {
  readonly part: PartFile;
  readonly path: string;
  readonly timing: Timing;
  readonly name: string;
  /** Whether an earlier run left a part or a journal. */
  readonly exists: boolean;
  /** Bytes that earlier runs have synced. */
  readonly synced: readonly ByteRange[];
  /** Whether {@link Checkpoints.note} syncs the part. */
  readonly sync: boolean;
}

/** Writes the journal of a part file while it grows. A small file is whole before the first time. */
export class Checkpoints {
  readonly #options: CheckpointsOptions;
  #bytes = 0;
  #last: number;
  #unsyncedBytes = 0;
  #lastSync: number;
  #synced: readonly ByteRange[];
  #running: Promise<void> | undefined;
  #exists: boolean;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
    this.#exists = options.exists;
    this.#synced = options.synced;
    this.#last = options.timing.now().getTime();
    this.#lastSync = this.#last;
  }

  /** Counts bytes that are written. From time to time it begins to write the journal, and does not wait for it. */
  note(bytes: number, version: ObjectVersion, done: RangeSet): void {
    this.#bytes += bytes;
    this.#unsyncedBytes += bytes;
    const now = this.#options.timing.now().getTime();
    if (this.#running || (this.#bytes < noteBytes && now - this.#last < noteMs)) return;
    const sync = this.#options.sync && (this.#unsyncedBytes >= syncBytes || now - this.#lastSync >= syncMs);
    this.#last = now;
    if (sync) this.#lastSync = now;
    this.#running = this.#save(version, done, sync).finally(() => {
      this.#running = undefined;
    });
    // A disk that fails here also fails at the next write, or at the end.
    this.#running.catch(() => undefined);
  }

  /** Whether there may be a journal on the disk. */
  get exists(): boolean {
    return this.#exists;
  }

  /** Waits for a journal that {@link note} has begun. */
  async written(): Promise<void> {
    await this.#running?.catch(() => undefined);
  }

  /** Syncs the part and writes the journal. @throws LocalDiskError */
  async save(version: ObjectVersion, done: RangeSet): Promise<void> {
    await this.written();
    await this.#save(version, done, true);
  }

  /** Removes the journal. Call it before the part is changed or removed, so that it never describes other bytes. @throws LocalDiskError */
  async forget(): Promise<void> {
    await this.written();
    if (this.#exists) await removeJournal(this.#options.path);
    this.#exists = false;
  }

  async #save(version: ObjectVersion, done: RangeSet, sync: boolean): Promise<void> {
    // A version that cannot be recognized is not resumed.
    if (!isRecognizable(version)) return;
    const { part, path, name } = this.#options;
    const { ranges } = done.copy();
    this.#bytes = 0;
    if (sync) {
      this.#unsyncedBytes = 0;
      await part.sync();
      this.#synced = ranges;
    }
    this.#exists = true;
    const journal = { name, version, done: ranges, synced: this.#synced, boot: bootId };
    await writeJournal(path, journal, { sync });
  }
}
