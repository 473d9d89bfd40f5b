import { randomBytes } from 'node:crypto';
import { type FileHandle, link, lstat, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ReaderGoneError, usageError } from '../../../terminal/errors.ts';
import { printable } from '../../../terminal/output.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import { hasCode, ifThere } from '../../api/download/disk/local-disk.ts';
import { isRunning } from '../../api/download/disk/lock.ts';
import { ClientError } from '../../api/errors.ts';

export interface OutputOptions {
  /** A path, or `-` for standard output. */
  readonly name: string;
  readonly terminal: Terminal;
  /** Whether a file of that name is replaced. */
  readonly force?: boolean;
  /** Permissions of a new file, less the umask; default 0o666. */
  readonly mode?: number;
  /** Whether the user named standard output. Otherwise, no bytes go to a terminal. */
  readonly toTerminal?: boolean;
}

/** Where bytes go. */
export interface Sink {
  /** Open for writing at any position; `undefined` for pipes and devices. */
  readonly handle: FileHandle | undefined;
  /** The file's name until it is complete; `undefined` for pipes and devices. */
  readonly path: string | undefined;
  /** Writes everything, at the pace of the reader: each chunk before the next is requested. */
  write(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>;
}

/**
 * Gives `work` somewhere to write. A file has a temporary name in the same folder until it is complete, and is removed when
 * `work` fails.
 * @throws ClientError `local_disk` when the file exists and `force` is not set, before `work` begins
 * @throws UsageError for a folder, or for a terminal that the user did not name
 */
export async function writeOutput<T>(options: OutputOptions, work: (sink: Sink) => Promise<T>): Promise<T> {
  const { name, terminal } = options;
  if (name === '-') {
    if (terminal.outputIsTerminal && !options.toTerminal) {
      throw usageError('--output', 'standard output is a terminal', 'Redirect it, or give --output FILE.');
    }
    return await work({ handle: undefined, path: undefined, write: (source) => writePipe(source, terminal) });
  }
  const named = resolve(terminal.folder, name);
  // A link stays a link: its target is replaced.
  const isLink = (await lstat(named).catch(() => undefined))?.isSymbolicLink();
  const target = isLink ? await realpath(named).catch(() => named) : named;
  const found = await ifThere(stat(target));
  if (found?.isDirectory()) {
    throw usageError('--output', `${printable(name)} is a folder`, 'Give the name of a file.');
  }
  if (found?.isFile() && !options.force) throw existsAlready(name);
  if (found === undefined || found.isFile()) return await writeFile(target, options, work);
  await using device = await open(target, 'w');
  const write: Sink['write'] = (source) => writeAll(device, source, terminal.signal);
  return await work({ handle: undefined, path: undefined, write });
}

/** @throws ReaderGoneError if the reader closes the pipe before the end, as `head` does */
async function writePipe(source: Parameters<Sink['write']>[0], { output, signal }: Terminal): Promise<void> {
  let interrupt: (reason: unknown) => void = () => {};
  const onAbort = () => interrupt(signal.reason);
  const ignore = () => {};
  signal.addEventListener('abort', onAbort, { once: true });
  // The callback of each write also gets the error.
  output.on('error', ignore);
  try {
    for await (const chunk of source) {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        interrupt = reject;
        output.write(chunk, (error) =>
          error ? reject(hasCode(error, 'EPIPE') ? new ReaderGoneError() : error) : resolve(),
        );
      });
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    output.off('error', ignore);
  }
}

async function writeFile<T>(target: string, options: OutputOptions, work: (sink: Sink) => Promise<T>): Promise<T> {
  const { terminal, name, force, mode = 0o666 } = options;
  const { signal } = terminal;
  const folder = dirname(target);
  await sweep(folder);
  const temporary = join(folder, `${mark}${process.pid}-${randomBytes(6).toString('hex')}.part`);
  const handle = await open(temporary, 'wx+', mode).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
    const remedy = 'Make it with mkdir -p, or choose another folder.';
    throw new ClientError('local_disk', `there is no folder ${printable(folder)}`, { remedy, cause: error });
  });
  try {
    let result: T;
    try {
      result = await work({ handle, path: temporary, write: (source) => writeAll(handle, source, signal) });
      signal.throwIfAborted();
      await handle.datasync();
    } finally {
      await handle.close();
    }
    if (force) await rename(temporary, target);
    else await publish(temporary, target, name);
    return result;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** How the temporary names of this machine begin. A process id follows. */
const mark = `.data-out-${hostname().replace(/[^\w.]/g, '_')}-`;
const swept = new Set<string>();

/** Removes what killed processes of this machine have left in a folder, once per run. */
async function sweep(folder: string): Promise<void> {
  if (swept.has(folder)) return;
  swept.add(folder);
  for (const name of await readdir(folder).catch(() => [])) {
    const [, pid] = (name.startsWith(mark) && /^(\d+)-[0-9a-f]+\.part$/.exec(name.slice(mark.length))) || [];
    if (pid !== undefined && !isRunning(Number(pid)))
      await rm(join(folder, name), { force: true }).catch(() => undefined);
  }
}

/** Writes at the file's current position. A stream would keep the handle from closing. */
async function writeAll(handle: FileHandle, source: Parameters<Sink['write']>[0], signal: AbortSignal): Promise<void> {
  for await (const chunk of source) {
    signal.throwIfAborted();
    for (let written = 0; written < chunk.length; ) {
      written += (await handle.write(chunk, written, chunk.length - written)).bytesWritten;
    }
  }
}

/** Names the file, unless the name has been taken since. `rename` would replace it. */
async function publish(temporary: string, target: string, name: string): Promise<void> {
  try {
    await link(temporary, target);
  } catch (error) {
    // Not every file system has hard links.
    if (hasCode(error, 'EEXIST') || (await ifThere(stat(target))) !== undefined) throw existsAlready(name);
    await rename(temporary, target);
  }
}

export function existsAlready(name: string, how = ''): ClientError {
  const remedy = 'Choose another name, or replace it with --force.';
  return new ClientError('local_disk', `${printable(name)} exists already${how}`, { remedy });
}
