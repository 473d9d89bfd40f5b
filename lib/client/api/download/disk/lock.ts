import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { hasCode, LocalDiskError, onDisk } from './local-disk.ts';

/** Who holds a lock. */
interface Owner {
  readonly pid: number;
  /** The machine, and on Linux its process namespace: `pid` means something only there. */
  readonly host: string;
  /** Start time as the system counts it, which tells two processes with one `pid` apart; empty where it is not known. */
  readonly began: string;
  readonly token: string;
}

/** An owner touches its lock this often. */
const touchMs = 15_000;
/** A lock of another host is left over if it was not touched for this long, by the clock of the disk. */
const leftOverMs = 90_000;
/** An empty lock is being written; after this long its process must have been killed in that moment. */
const unwrittenMs = 1_000;
/**
 * A lock whose time lies ahead of the disk's clock says nothing by its time, for example after that clock was set back. Its
 * owner touches it soon, which brings it to the present. So it is watched for three touches, and is left over if its time
 * stays the same.
 */
const watchMs = 3 * touchMs;
/** A process that is killed may take a moment to end. */
const waitMs = { all: 2_000, step: 100 } as const;

/** Tokens of the locks that this process holds or is taking. */
const own = new Set<string>();
/** Of every turn to look at a lock and to remove it. */
const turnToken = randomUUID();
own.add(turnToken);

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
   * Takes the lock, also one that is left over. Waits two seconds for a process that runs.
   * @param sleep default: real time
   * @throws LocalDiskError if a running process holds it, or the disk refuses
   */
  static async acquire(path: string, sleep: (milliseconds: number) => Promise<unknown> = pause): Promise<FileLock> {
    const token = randomUUID();
    const content = JSON.stringify({ ...thisProcess, token } satisfies Owner);
    let isHeld = false;
    // Before the file is written: others in this process may read it at once.
    own.add(token);
    try {
      let ahead: { readonly time: number; readonly since: number } | undefined;
      let most: number = waitMs.all;
      for (let waited = 0; waited < most; waited += waitMs.step) {
        isHeld = await created(path, content);
        if (isHeld) return new FileLock(path, content, token);
        const found = await look(path);
        const time = found?.state === 'ahead' ? found.time : undefined;
        if (time !== ahead?.time) ahead = time === undefined ? undefined : { time, since: waited };
        most = ahead ? ahead.since + watchMs + waitMs.all : waitMs.all;
        const isLeftOver = found?.state === 'left over' || (ahead && waited - ahead.since >= watchMs);
        const isFree = isLeftOver && found && (await takeAway(path, found));
        if (!isFree) await sleep(waitMs.step);
      }
    } finally {
      if (!isHeld) own.delete(token);
    }
    throw new LocalDiskError(`another process works on ${path.replace(/\.lock$/, '')}`, {
      remedy: `Wait until it ends. If no other process runs, remove ${path}.`,
    });
  }

  /** Removes the lock, unless another machine has taken it, as after a long suspension of this one. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    own.delete(this.#token);
    if ((await contentOf(this.#path))?.includes(this.#token))
      await rm(this.#path, { force: true }).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

/**
 * Touches a lock that is still ours, by writing it again: its time is then by the clock of its disk, which can be that of a file
 * server.
 */
async function touch(path: string, content: string): Promise<void> {
  await using file = await open(path, 'r+');
  if ((await file.readFile('utf8')) === content) await file.write(content, 0);
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

interface Look {
  readonly content: string;
  /** `ahead`: its time lies ahead of the disk's clock. */
  readonly state: 'held' | 'left over' | 'ahead';
  readonly time: number;
}

/** @returns `undefined` if the lock no longer exists, or if the clock of its disk cannot be read at the moment */
async function look(path: string): Promise<Look | undefined> {
  const content = await contentOf(path);
  // In this order: the time of an old lock must not be taken for that of a new one, which is empty for a moment.
  const status = await stat(path).catch(() => undefined);
  if (content === undefined || status === undefined) return undefined;
  const time = status.mtimeMs;
  const owner = parse(content);
  const isHeld = owner && holds(owner);
  if (isHeld !== undefined) return { content, time, state: isHeld ? 'held' : 'left over' };
  const now = await diskTime(path);
  if (now === undefined) return undefined;
  const most = owner ? leftOverMs : unwrittenMs;
  return { content, time, state: now - time >= most ? 'left over' : time - now >= most ? 'ahead' : 'held' };
}

/** The time by the clock of the disk, as a file has it that is made now in the same folder. */
async function diskTime(path: string): Promise<number | undefined> {
  const probe = `${path}.now`;
  try {
    await using file = await open(probe, 'wx', 0o600);
    return (await file.stat()).mtimeMs;
  } catch {
    // Another process asks for the time, or was killed while it did.
    return undefined;
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
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
  // It names its owner, so that a process which is held up keeps its turn, and one that was killed does not.
  if (!(await created(turn, JSON.stringify({ ...thisProcess, token: turnToken } satisfies Owner)))) {
    if ((await look(turn))?.state === 'left over') await rm(turn, { force: true });
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

const thisProcess = {
  pid: process.pid,
  host: `${hostname()}/${systemText(() => readlinkSync('/proc/self/ns/pid'))}`,
  began: statusOf('self').began,
};

/** Whether the owner of a lock runs; `undefined` for one of another host, which cannot be asked from here. */
function holds({ pid, host, began, token }: Owner): boolean | undefined {
  if (host !== thisProcess.host) return undefined;
  if (pid === process.pid) return own.has(token);
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, under another user.
    return hasCode(error, 'EPERM');
  }
  const now = statusOf(pid);
  return !now.hasEnded && (now.began === '' || began === '' || now.began === began);
}

/** Fields 3 and 22 of /proc/[pid]/stat (proc(5)); the name before them is in brackets and may hold anything. */
function statusOf(pid: number | 'self'): { readonly hasEnded: boolean; readonly began: string } {
  const stat = systemText(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // Z, X: it has ended, and its parent has not asked for its exit status yet.
  return { hasEnded: /^[ZX]$/.test(fields[0] ?? ''), began: fields[19] ?? '' };
}

/** Text that the system gives; empty if it cannot be read. */
function systemText(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
