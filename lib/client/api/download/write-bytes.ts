import { giveBack } from '../read-memory.ts';
import type { Target } from './disk/part-file.ts';

/** Bytes of one write: enough to make system calls cheap, few enough to stay in the cache. */
const writeBytesAtOnce = 1024 * 1024;
/** Most buffers of one write: what one system call takes. */
const writeBuffers = 512;

/**
 * Writes bytes from `position` on. If they break off, the bytes before are kept.
 * @param kept called with bytes [start, end) after they are written
 * @throws errors of `bytes`; LocalDiskError
 */
export async function writeBytes(
  part: Target,
  position: number,
  bytes: AsyncIterable<Uint8Array>,
  kept: (start: number, end: number) => void,
): Promise<void> {
  let at = position;
  let held: Uint8Array[] = [];
  let size = 0;
  let writing: Promise<void> | undefined;
  // One write runs while the next bytes come: at most two batches are in memory.
  const write = async () => {
    const [buffers, start, end] = [held, at, at + size];
    at = end;
    held = [];
    size = 0;
    await writing;
    if (buffers.length === 0) return;
    writing = part.write(buffers, start).then(() => {
      giveBack(buffers);
      kept(start, end);
    });
    // Awaited before the next write, or at the end.
    writing.catch(() => undefined);
  };
  try {
    for await (const chunk of bytes) {
      held.push(chunk);
      size += chunk.length;
      if (size >= writeBytesAtOnce || held.length >= writeBuffers) await write();
    }
  } finally {
    await write();
    await writing;
  }
}
