import { open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { NotFoundError } from '../../errors.ts';
import { usageError } from '../../terminal/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';

/** The file to archive, unread. */
export interface Input {
  /** Its name in messages. */
  readonly label: string;
  /** Base name of the file; `undefined` for standard input. */
  readonly name: string | undefined;
  /** Bytes; `undefined` when the size is not known before the end. */
  readonly size: number | undefined;
  /** To be read once. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Close the file, whether it was read or not. */
  close(): void;
}

const chunkBytes = 1 << 20;

/**
 * Open the file to archive; `-` is standard input. A named pipe works, too: it is opened once only.
 * @param statedSize bytes that will come from an input without a size of its own
 * @throws NotFoundError when there is no such file; UsageError for a directory
 */
export async function openInput(path: string, terminal: Terminal, statedSize?: number): Promise<Input> {
  if (path === '-') {
    return { label: 'standard input', name: undefined, size: statedSize, bytes: terminal.input, close: () => {} };
  }
  const absolute = resolve(terminal.folder, path);
  const file = await open(absolute, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') throw new NotFoundError(`there is no file ${path}`);
    throw error;
  });
  const stats = await file.stat();
  if (stats.isDirectory()) {
    await file.close();
    throw usageError('<file>', `${path} is a directory; archive its files one by one`);
  }
  const bytes = file.createReadStream({ highWaterMark: chunkBytes });
  return {
    label: path,
    name: basename(absolute),
    // A pipe or a device has no size of its own.
    size: stats.isFile() ? stats.size : statedSize,
    bytes,
    close: () => void bytes.destroy(),
  };
}
