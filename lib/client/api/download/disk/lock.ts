import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { parseJson } from '../../../../common/untrusted-json.ts';
import { hasCode, LocalDiskError, onDisk } from './local-disk.ts';

/** An owner touches its lock this often. */
const touchMs = 15_000;
/** A lock that was not touched for this long, by the clock of the disk, is left over. */
const leftOverMs = 90_000;
/** Age at which an empty lock is left over: its process was killed, or found the disk full, before it wrote its name. */
const unwrittenMs = 1_000;
/** A process that is killed may take a moment to end. */
const waitMs = { all: 2_000, step: 100 } as const;

/** The machine, and on Linux its process namespace: a process id means something only there. */
const host = `${hostname()}/${processNamespace()}`;
/** Tokens of the locks that this process holds or is taking, because an earlier process may have had the same id. */
const own = new Set<string>();

/** Keeps other processes off one file for as long as it is held: a file that names its owner. */
export class FileLock implements AsyncDisposable {
  readonly #path: string;
  readonly #token: string;
  readonly #timer: NodeJS.Timeout;

  private constructor(path: string, content: string, token: string) {
    this.#path = path;
    this.#token = token;
    this.#timer = setInterval(() => void touch(path, content).catch(() => undefined), touchMs).unref();
  }

  /**
   * Takes the lock, also one that is left over. Waits two seconds for another owner.
   * @param sleep default: real time
   * @throws LocalDiskError if another process holds it, or the disk refuses
   */
  static async acquire(path: string, sleep: (milliseconds: number) => Promise<unknown> = pause): Promise<FileLock> {
    const token = randomUUID();
    const content = JSON.stringify({ pid: process.pid, host, token });
    // Before the file is written: others in this process may read it at the same time.
    own.add(token);
    const turns: (number | undefined)[] = [];
    try {
      for (let waited = 0; waited < waitMs.all; waited += waitMs.step) {
        if (await onDisk(path, () => created(path, content))) return new FileLock(path, content, token);
        turns.push(await removeLeftOver(path));
        await sleep(waitMs.step);
      }
    } catch (error) {
      own.delete(token);
      throw error;
    }
    own.delete(token);
    const [turn] = turns;
    if (turn !== undefined && turns.every((time) => time === turn)) {
      // A turn takes milliseconds, so its process was killed.
      await onDisk(path, () => rm(turnOf(path), { force: true }));
      return await FileLock.acquire(path, sleep);
    }
    throw new LocalDiskError(`another process works on ${path.replace(/\.lock$/, '')}`, {
      remedy: `Wait until it ends. If no other process runs, remove ${path}.`,
    });
  }

  /** Removes the lock, unless another process has taken it, as after a long suspension of this one. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    own.delete(this.#token);
    const content = await readFile(this.#path, 'utf8').catch(() => '');
    if (content.includes(this.#token)) await rm(this.#path, { force: true }).catch(() => undefined);
  }
}

/** @returns whether the file was missing */
async function created(path: string, content: string): Promise<boolean> {
  try {
    await writeFile(path, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Writes a lock again if it still has this content: its time is then by the clock of the disk, such as a file server's. */
async function touch(path: string, content: string): Promise<void> {
  await using file = await open(path, 'r+');
  if ((await file.readFile('utf8')) === content) await file.write(content, 0);
}

/** Its file shows the time of the disk's clock, and keeps other processes from looking at the same time. */
function turnOf(path: string): string {
  return `${path}.turn`;
}

/**
 * Removes a lock that is left over. One process at a time looks and removes, because a second one could remove the lock that
 * the first one makes next. A lock from the future, as after the disk's clock was set back, is brought to the present, so that
 * it is left over later unless its owner touches it.
 * @returns the time of another process's turn, if there is one
 */
async function removeLeftOver(path: string): Promise<number | undefined> {
  const turn = turnOf(path);
  if (!(await onDisk(path, () => created(turn, '')))) return (await stat(turn).catch(() => undefined))?.mtimeMs;
  try {
    const now = (await stat(turn)).mtimeMs;
    const content = await readFile(path, 'utf8');
    const age = now - (await stat(path)).mtimeMs;
    if (age >= (content === '' ? unwrittenMs : leftOverMs) || hasEnded(content)) await rm(path, { force: true });
    else if (age <= -leftOverMs) await touch(path, content);
  } catch {
    // It was released meanwhile, or belongs to another user.
  } finally {
    await rm(turn, { force: true }).catch(() => undefined);
  }
  return undefined;
}

/** Whether the owner of a lock is a process of this host that no longer runs. */
function hasEnded(content: string): boolean {
  const owner = Object(parseJson(content)) as Readonly<Record<string, unknown>>;
  if (owner.host !== host || typeof owner.pid !== 'number') return false;
  return owner.pid === process.pid ? !own.has(String(owner.token)) : !isRunning(owner.pid);
}

/** Whether a process of this machine runs, also one of another user. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return !hasCode(error, 'ESRCH');
  }
}

function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}
