import { ReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { usageError } from '../../../terminal/errors.ts';
import { printable } from '../../../terminal/output.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import { hasCode } from '../../api/download/disk/local-disk.ts';
import { ClientError } from '../../api/errors.ts';

/** Bytes per read. A larger chunk would leave the processor's cache before it is worked on. */
const chunkBytes = 512 * 1024;

/** What a command reads: a file, or a pipe. */
export interface Input extends AsyncDisposable {
  /** For people. */
  readonly label: string;
  /** Open at its start; `undefined` for pipes and devices, which have no positions. */
  readonly handle: FileHandle | undefined;
  /** Whether another program writes the bytes, at its own pace. */
  readonly isPipe: boolean;
  /** Bytes of a regular file. */
  readonly size: number | undefined;
  /** The bytes; those of a pipe once. A chunk is valid until the next one is requested. */
  stream(): AsyncIterable<Uint8Array>;
}

/**
 * @param name a path, or `-` for standard input
 * @throws UsageError for a folder; ClientError `local_disk` if it may not be read; errors of the file system
 */
export async function openInput(name: string, terminal: Terminal): Promise<Input> {
  if (name === '-') {
    return {
      label: 'standard input',
      handle: undefined,
      // Of a shell's `< file` Node.js makes a stream of a file.
      isPipe: !(terminal.input instanceof ReadStream),
      size: undefined,
      stream: () => terminal.passingInput ?? terminal.input,
      [Symbol.asyncDispose]: async () => {},
    };
  }
  const path = resolve(terminal.folder, name);
  const handle = await open(path, 'r').catch((cause: unknown) => {
    if (!hasCode(cause, 'EACCES')) throw cause;
    const remedy = 'Ask its owner, or choose another file.';
    throw new ClientError('local_disk', `${printable(name)} cannot be read: permission denied`, { remedy, cause });
  });
  const status = await handle.stat();
  if (status.isDirectory()) {
    await handle.close();
    throw usageError(printable(name), 'this is a folder', 'Give the name of a file.');
  }
  const regular = status.isFile();
  return {
    label: printable(name),
    handle: regular ? handle : undefined,
    isPipe: !regular,
    size: regular ? status.size : undefined,
    stream: () => chunksOf(handle, regular ? 0 : null),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** @param start `null`: a pipe or device */
async function* chunksOf(handle: FileHandle, start: number | null): AsyncGenerator<Uint8Array> {
  const memory = Buffer.allocUnsafeSlow(chunkBytes);
  for (let position = start; ; ) {
    const { bytesRead } = await handle.read(memory, 0, chunkBytes, position);
    if (bytesRead === 0) return;
    if (position !== null) position += bytesRead;
    yield memory.subarray(0, bytesRead);
  }
}
