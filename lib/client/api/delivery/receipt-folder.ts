import { createHash } from 'node:crypto';
import { link, mkdir, mkdtemp, readdir, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { receiptSuffix } from '../../../contract/delivery.ts';
import { isFolder, onDisk } from '../download/disk/local-disk.ts';
import { nameProblem } from '../download/disk/local-name.ts';
import type { ListedFile } from '../proxy.ts';

/** A receipt that was not read for so long is forgotten: by then its outbox has deleted it. */
const forgottenMs = 30 * 86_400_000;
/** A run that was killed leaves its folder. None takes longer. */
const abandonedMs = 7 * 86_400_000;
const runPrefix = 'run-';

/**
 * The delivery receipts of one run, under their names, in a folder for this user alone. Receipts are kept between runs by name
 * and entity tag, so that none is downloaded twice. What is kept is verified each time, as if it came from the network.
 */
export class ReceiptFolder implements AsyncDisposable {
  /** The receipts of this run. */
  readonly path: string;
  readonly #kept: string | undefined;
  readonly #now: () => Date;
  /** Entity tags of the receipts in {@link path}, by name. */
  readonly #tags = new Map<string, string | undefined>();

  private constructor(path: string, kept: string | undefined, now: () => Date) {
    this.path = path;
    this.#kept = kept;
    this.#now = now;
  }

  /**
   * @param cache the user's folder for caches. Without one, or where it cannot be used, nothing is kept after the run.
   * @throws LocalDiskError
   */
  static async open(cache: string | undefined, now: () => Date): Promise<ReceiptFolder> {
    const kept = cache === undefined ? undefined : join(cache, 'data-out', 'receipts');
    try {
      // A home that does not exist is not made.
      if (kept !== undefined && cache !== undefined && (await isFolder(dirname(cache)))) {
        await mkdir(kept, { recursive: true, mode: 0o700 });
        return new ReceiptFolder(await mkdtemp(join(kept, runPrefix)), kept, now);
      }
    } catch {
      // As without a cache.
    }
    const path = await onDisk(tmpdir(), () => mkdtemp(join(tmpdir(), 'data-out-receipts-')));
    return new ReceiptFolder(path, undefined, now);
  }

  /** The receipts that must be downloaded. Others are in {@link path} now, and other versions of them are not. */
  async lacking(files: readonly ListedFile[]): Promise<readonly ListedFile[]> {
    const found = await Promise.all(files.map(async (file) => ((await this.#has(file)) ? [] : [file])));
    return found.flat();
  }

  /** Keeps receipts of this run that are genuine, and forgets the others. */
  async keep(files: readonly ListedFile[], isGenuine: (file: ListedFile) => boolean): Promise<void> {
    await Promise.all(
      files.map(async (file) => {
        this.#tags.set(file.name, file.etag);
        const place = this.#placeOf(file);
        if (place === undefined) return;
        // Where links are not supported, or the receipt is kept already, nothing more is kept.
        if (isGenuine(file)) await link(join(this.path, file.name), place).catch(() => undefined);
        else await rm(place, { force: true });
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
    if (this.#kept !== undefined) await this.#forget(this.#kept).catch(() => undefined);
  }

  async #has(file: ListedFile): Promise<boolean> {
    if (nameProblem(file.name) !== undefined) return false;
    if (this.#tags.has(file.name) && this.#tags.get(file.name) === file.etag) return file.etag !== undefined;
    const here = join(this.path, file.name);
    await rm(here, { force: true });
    const place = this.#placeOf(file);
    if (place === undefined) return false;
    try {
      await link(place, here);
      if ((await stat(here)).size !== file.size) {
        await rm(place);
        return false;
      }
      await utimes(place, this.#now(), file.modified ?? this.#now());
    } catch {
      return false;
    }
    this.#tags.set(file.name, file.etag);
    return true;
  }

  #placeOf({ name, etag }: ListedFile): string | undefined {
    if (this.#kept === undefined || etag === undefined) return undefined;
    const key = createHash('sha256')
      .update(JSON.stringify([name, etag]))
      .digest('hex');
    return join(this.#kept, `${key}${receiptSuffix}`);
  }

  async #forget(folder: string): Promise<void> {
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const { atimeMs, mtimeMs } = await stat(path);
      const now = this.#now().getTime();
      const isOver = name.startsWith(runPrefix) ? mtimeMs < now - abandonedMs : atimeMs < now - forgottenMs;
      if (isOver) await rm(path, { recursive: true, force: true });
    }
  }
}
