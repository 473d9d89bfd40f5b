import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { hasCode, LocalDiskError, onDisk } from './local-disk.ts';
import { isRunning, type ProcessIdentity, thisProcess } from './processes.ts';

interface Owner extends ProcessIdentity {
  readonly token: string;
}

/** A running owner touches its lock file this often. */
const touchMs = 15_000;
/** A lock of another host is left over if it was not touched for this long. */
const leftOverMs = 90_000;
/** An empty lock file is being written; after this long its process must have been killed in that moment. */
const unwrittenMs = 1_000;

/** A process that is killed may take a moment to end. */
const waiting = { attempts: 20, milliseconds: 100 } as const;

/** Tokens of the locks that this process holds or is taking. */
const own = new Set<string>();
/** Token of all locks that this process holds for a short time. Made on first use, because that loads a module of Node.js. */
let shortToken: string | undefined;

/** Keeps other processes off one file for as long as it is held. */
export class FileLock implements AsyncDisposable {
  readonly #path: string;
  readonly #token: string;
  readonly #timer: NodeJS.Timeout;
  readonly #since: number;
  #isHeld = true;

  private constructor(path: string, token: string, since = Date.now()) {
    this.#path = path;
    this.#token = token;
    this.#since = since;
    const touch = () => void utimes(path, new Date(), new Date()).catch(() => undefined);
    this.#timer = setInterval(touch, touchMs).unref();
  }

  /**
   * Takes the lock. Takes over a lock whose process has ended. Waits two seconds for a process that runs.
   * @param sleep default: real time.
   * @throws LocalDiskError if a running process holds it, or the disk refuses
   */
  static async acquire(path: string, sleep: (milliseconds: number) => Promise<unknown> = pause): Promise<FileLock> {
    const owner: Owner = { ...thisProcess, token: randomUUID() };
    let isHeld = false;
    // Before the file is written: others in this process may read it at once.
    own.add(owner.token);
    try {
      for (let attempt = 0; attempt < waiting.attempts; attempt += 1) {
        isHeld = await created(path, JSON.stringify(owner));
        if (isHeld) return new FileLock(path, owner.token);
        const content = await leftOver(path);
        const isFree = content !== undefined && (await takeAway(path, { content }));
        if (!isFree) await sleep(waiting.milliseconds);
      }
    } finally {
      if (!isHeld) own.delete(owner.token);
    }
    throw new LocalDiskError(`another process works on ${path.replace(/\.lock$/, '')}`, {
      remedy: `Wait until it ends. If no other process runs, remove ${path}.`,
    });
  }

  /**
   * Takes the lock without a pause, for a short time. Takes none over.
   * @param earlier a lock from this method. While it is held, the new one becomes a link to it, because a file for each lock takes
   * longer: ext4 makes none before it has looked at all that were deleted in the last minutes.
   * @returns `undefined` if there is a lock
   * @throws errors of the file system
   */
  static acquireNew(path: string, earlier?: FileLock): FileLock | undefined {
    const linked = earlier ? earlier.#linkedAt(path) : undefined;
    if (linked) return linked;
    shortToken ??= randomUUID();
    const content = JSON.stringify({ ...thisProcess, token: shortToken } satisfies Owner);
    try {
      writeFileSync(path, content, { flag: 'wx', mode: 0o600 });
      // As in `created`: a process that was held up may have lost it.
      return readFileSync(path, 'utf8') === content ? new FileLock(path, shortToken) : undefined;
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return undefined;
      throw error;
    }
  }

  #linkedAt(path: string): FileLock | undefined {
    // Once it is given back, another process may have it. Other machines go by the time of the file, so it must be young.
    if (!this.#isHeld || Date.now() - this.#since >= touchMs) return undefined;
    try {
      linkSync(this.#path, path);
      return new FileLock(path, this.#token, this.#since);
    } catch {
      // There is a lock, or the disk has no links.
      return undefined;
    }
  }

  /** As {@link release}, without a pause. */
  releaseNow(): void {
    if (!this.#isFresh()) return void this.release();
    this.#forget();
    try {
      unlinkSync(this.#path);
    } catch {
      // As in `release`. The next run takes it over.
    }
  }

  async release(): Promise<void> {
    this.#forget();
    if (await this.#isOurs()) await rm(this.#path, { force: true }).catch(() => undefined);
  }

  #forget(): void {
    this.#isHeld = false;
    clearInterval(this.#timer);
    own.delete(this.#token);
  }

  /** A machine that was suspended for long may have lost it to another one. */
  async #isOurs(): Promise<boolean> {
    return this.#isFresh() || (await contentOf(this.#path))?.includes(this.#token) === true;
  }

  /** Whether no other machine can have taken it over yet. Saves the look for a small file. */
  #isFresh(): boolean {
    const heldMs = Date.now() - this.#since;
    return heldMs >= 0 && heldMs < leftOverMs / 2;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

/**
 * Makes a file that is missing.
 * @returns whether it is ours: if this process was held up before it wrote, another one may have taken the file away
 */
async function created(path: string, content: string): Promise<boolean> {
  return await onDisk(path, async () => {
    try {
      await writeFile(path, content, { flag: 'wx', mode: 0o600 });
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw error;
    }
    return (await contentOf(path)) === content;
  });
}

/** Content of a lock that no process holds; `undefined` if one does, or if the file no longer exists. */
async function leftOver(path: string): Promise<string | undefined> {
  const content = await contentOf(path);
  // In this order: the time of an old lock must not be taken for that of a new one, which is empty for a moment.
  const status = await stat(path).catch(() => undefined);
  if (content === undefined || status === undefined) return undefined;
  const untouchedMs = Date.now() - status.mtimeMs;
  const owner = parse(content);
  if (owner === undefined) return untouchedMs < unwrittenMs ? undefined : content;
  if (owner.pid === process.pid && owner.host === thisProcess.host) {
    return owner.token === shortToken || own.has(owner.token) ? undefined : content;
  }
  return (isRunning(owner) ?? untouchedMs < leftOverMs) ? undefined : content;
}

/**
 * Removes a lock if it still has this content. One process at a time looks and removes: otherwise a second one could remove
 * the lock that the first has made in its place.
 * @returns whether this process had its turn
 * @throws LocalDiskError if the disk refuses
 * @internal
 */
export async function takeAway(path: string, { content }: { readonly content: string }): Promise<boolean> {
  const turn = `${path}.turn`;
  if (!(await created(turn, ''))) {
    // A turn takes no time: it is left over on the same terms as a lock that was never written.
    if ((await leftOver(turn)) !== undefined) await rm(turn, { force: true });
    return false;
  }
  try {
    if ((await contentOf(path)) === content) await onDisk(path, () => rm(path, { force: true }));
  } finally {
    await rm(turn, { force: true }).catch(() => undefined);
  }
  return true;
}

async function contentOf(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch(() => undefined);
}

function parse(content: string): Owner | undefined {
  try {
    const owner = JSON.parse(content) as Owner;
    return Number.isSafeInteger(owner.pid) && owner.pid > 0 ? owner : undefined;
  } catch {
    return undefined;
  }
}
