import type { FileHandle } from 'node:fs/promises';
import { asBuffer } from './bytes.ts';

/** A source that can be read at any position: a file, HTTP ranges, an S3 object, memory. */
export interface RandomAccessSource {
  /** Reads up to `length` bytes from `offset` on. After fewer bytes the rest is asked for; no bytes: the source ends there. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Bytes of the whole source; `undefined` if that is not known. */
  readonly size?: number | undefined;
}

/** A pipe or device has no size. */
export async function fileSize(file: FileHandle): Promise<number> {
  const status = await file.stat();
  if (!status.isFile()) throw new RangeError('expected a regular file; use the stream functions for a pipe or device');
  return status.size;
}

/**
 * An open file as a source for {@link openContainer}. Its size is read now. The caller closes it.
 */
export async function fileSource(file: FileHandle): Promise<RandomAccessSource> {
  const size = await fileSize(file);
  return {
    size,
    async read(offset, length) {
      const bytes = Buffer.allocUnsafeSlow(Math.max(0, Math.min(length, size - offset)));
      let filled = 0;
      while (filled < bytes.length) {
        const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, offset + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return bytes.subarray(0, filled);
    },
  };
}

/** The `length` bytes from `offset` on, in as many reads as that takes; fewer only if the source ends. */
export async function readFully(source: RandomAccessSource, offset: number, length: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  const wanted = Math.max(0, Math.min(length, (source.size ?? Number.POSITIVE_INFINITY) - offset));
  for (let filled = 0; filled < wanted; ) {
    const part = await source.read(offset + filled, wanted - filled);
    if (part.length === 0) break;
    parts.push(part);
    filled += part.length;
  }
  const [only, ...others] = parts;
  const bytes = only !== undefined && others.length === 0 ? asBuffer(only) : Buffer.concat(parts);
  return bytes.subarray(0, wanted);
}
