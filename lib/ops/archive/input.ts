import type { Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { DataOutError } from '../../errors.ts';
import { usageError } from '../../terminal/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';

/** The file to archive, unread. Its disposal closes it, whether it was read or not. */
export interface Input extends Disposable {
  /** Its name in messages. */
  readonly label: string;
  /** Base name of the file; `undefined` for standard input. */
  readonly name: string | undefined;
  /** Bytes; `undefined` when the size is not known before the end. */
  readonly size: number | undefined;
  /** To be read once. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

const chunkBytes = 1 << 20;

/**
 * Open the file to archive; `-` is standard input.
 * @param statedSize bytes that will come from standard input
 * @throws UsageError for anything but a regular file
 */
export async function openInput(path: string, terminal: Terminal, statedSize?: number): Promise<Input> {
  if (path === '-') {
    const unnamed = { label: 'standard input', name: undefined, size: statedSize, bytes: terminal.input };
    return { ...unnamed, [Symbol.dispose]: () => {} };
  }
  const absolute = resolve(terminal.folder, path);
  // Before it is opened: opening a named pipe waits for its writer.
  const { size } = await regularFile(absolute, path);
  const file = await open(absolute, 'r');
  const bytes = file.createReadStream({ highWaterMark: chunkBytes });
  return { label: path, name: basename(absolute), size, bytes, [Symbol.dispose]: () => void bytes.destroy() };
}

/** @param label its name in errors */
export async function regularFile(absolute: string, label: string): Promise<Stats> {
  const stats = await statOf(absolute, label);
  if (stats.isFile()) return stats;
  if (stats.isDirectory())
    throw usageError(label, 'this is a folder, and a file was expected', 'Several files are added by --manifest.');
  const remedy = 'To archive what a program writes, pipe it: data-out-ops archive add - --path NAME';
  throw usageError(label, 'this is a device, a pipe or a socket, and a regular file was expected', remedy);
}

export async function statOf(absolute: string, label: string): Promise<Stats> {
  return await stat(absolute).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR')
      throw new DataOutError('not_found', `there is no file ${label}`);
    throw error;
  });
}
