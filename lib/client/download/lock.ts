import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { LocalDiskError, onDisk } from './local-disk.ts';

/** Who works on a part file. */
interface Owner {
  readonly pid: number;
  /** Machine, and on Linux the process namespace: only there the number says something. */
  readonly host: string;
  /** When the process began, as the system counts; empty where it does not say. Numbers are given again. */
  readonly began: string;
  readonly token: string;
}

/** A living owner touches the lock file so often. */
const touchMs = 15_000;
/** One of another machine that nobody touched for so long is left over. */
const leftOverMs = 90_000;
/** A lock file without content is being written, or was left by a crash in that moment: less than others wait for it. */
const unwrittenMs = 1_000;

/** A process that is killed may take a moment to end. */
const patience = { attempts: 20, milliseconds: 100 } as const;

/** Tokens of the locks that this process holds. */
const own = new Set<string>();
const host = `${hostname()}${linked('/proc/self/ns/pid')}`;
const began = beginOf('self');

/** Keeps other processes off one part file for as long as it is held. */
export class FileLock implements AsyncDisposable {
  readonly #path: string;
  readonly #token: string;
  readonly #timer: NodeJS.Timeout;
  readonly #since = Date.now();

  private constructor(path: string, token: string) {
    this.#path = path;
    this.#token = token;
    const touch = () => void utimes(path, new Date(), new Date()).catch(() => undefined);
    this.#timer = setInterval(touch, touchMs).unref();
  }

  /**
   * Takes the lock. One whose process has ended is taken over; for a living one it waits two seconds.
   *
   * @param sleep default: real time.
   * @throws LocalDiskError when a living process has it, or the disk refuses
   */
  static async acquire(path: string, sleep: (milliseconds: number) => Promise<unknown> = pause): Promise<FileLock> {
    const owner: Owner = { pid: process.pid, host, began, token: randomUUID() };
    let isHeld = false;
    // Before it is written: others in this process may read it as soon as it is.
    own.add(owner.token);
    try {
      for (let attempt = 0; attempt < patience.attempts; attempt += 1) {
        isHeld = await created(path, owner);
        if (isHeld) return new FileLock(path, owner.token);
        const held = await holderOf(path);
        const hasGone = held === undefined || (held !== 'alive' && (await takeAway(path, held)));
        if (!hasGone) await sleep(patience.milliseconds);
      }
    } finally {
      if (!isHeld) own.delete(owner.token);
    }
    throw new LocalDiskError(`${path.replace(/\.lock$/, '')} is being downloaded by another process`, {
      remedy: `Let the other one end. If there is none, remove ${path}.`,
    });
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    own.delete(this.#token);
    if (await this.#isOurs()) await rm(this.#path, { force: true }).catch(() => undefined);
  }

  /** Another may have taken it from a process that slept for long; of a small file it is not worth a look. */
  async #isOurs(): Promise<boolean> {
    const heldMs = Date.now() - this.#since;
    if (heldMs >= 0 && heldMs < leftOverMs / 2) return true;
    const held = await readFile(this.#path, 'utf8').catch(() => '');
    return held.includes(this.#token);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

async function created(path: string, owner: Owner): Promise<boolean> {
  return await onDisk(path, async () => {
    try {
      await writeFile(path, JSON.stringify(owner), { flag: 'wx', mode: 0o600 });
      // Who was held up before writing may have been taken for one that crashed.
      return (await readFile(path, 'utf8').catch(() => '')).includes(owner.token);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
      throw error;
    }
  });
}

/** `alive`, or the content of a lock that nobody holds; `undefined`: it has gone meanwhile. */
async function holderOf(path: string): Promise<'alive' | { readonly content: string } | undefined> {
  try {
    const content = await readFile(path, 'utf8');
    const untouchedMs = Date.now() - (await stat(path)).mtimeMs;
    const owner = parse(content);
    if (owner === undefined) return untouchedMs < unwrittenMs ? 'alive' : { content };
    return isAlive(owner, untouchedMs) ? 'alive' : { content };
  } catch {
    return undefined;
  }
}

/**
 * Removes just the lock that was looked at: another process may have done so, and put its own there. So one at a time looks
 * again and removes it.
 *
 * @returns whether this was the one
 * @internal
 */
export async function takeAway(path: string, { content }: { readonly content: string }): Promise<boolean> {
  const turn = `${path}.turn`;
  try {
    await writeFile(turn, '', { flag: 'wx', mode: 0o600 });
  } catch {
    await removeLeftOver(turn);
    return false;
  }
  try {
    if ((await readFile(path, 'utf8')) === content) await rm(path);
  } catch {
    // Its holder was faster, or it cannot be removed: then it stays.
    return false;
  } finally {
    await rm(turn, { force: true }).catch(() => undefined);
  }
  return true;
}

/** A turn takes no time: a file that is old is of a process that was killed in it. */
async function removeLeftOver(turn: string): Promise<void> {
  const status = await stat(turn).catch(() => undefined);
  if (status && Date.now() - status.mtimeMs > unwrittenMs) await rm(turn, { force: true }).catch(() => undefined);
}

function isAlive(owner: Owner, untouchedMs: number): boolean {
  if (owner.host !== host) return untouchedMs < leftOverMs;
  if (owner.pid === process.pid) return own.has(owner.token);
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  const began = beginOf(`${owner.pid}`);
  if (began === 'ended') return false;
  return began === '' || owner.began === '' || began === owner.began;
}

function parse(content: string): Owner | undefined {
  try {
    const { pid, host, began, token } = JSON.parse(content) as Record<string, unknown>;
    const isText = [host, began, token].every((value) => typeof value === 'string');
    return isText && Number.isSafeInteger(pid) && Number(pid) > 0
      ? { pid: Number(pid), host: `${host}`, began: `${began}`, token: `${token}` }
      : undefined;
  } catch {
    return undefined;
  }
}

/** proc(5): fields 3 and 22 of `stat`; the name before them may hold anything, in brackets. */
function beginOf(process: string): string {
  try {
    const stat = readFileSync(`/proc/${process}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // One that has ended, and whose parent has not looked at it yet.
    return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : (fields[19] ?? '');
  } catch {
    return '';
  }
}

function linked(path: string): string {
  try {
    return `/${readlinkSync(path)}`;
  } catch {
    return '';
  }
}
