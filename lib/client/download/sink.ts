import { giveBack } from '../read-memory.ts';
import type { PartFile } from './part-file.ts';

/** Where a sink puts bytes, by their position. */
export type Target = Pick<PartFile, 'write'>;

/** Turns bytes of the remote file into bytes of the part, wherever they belong. */
export interface Sink {
  /** Whether it must have the beginning of the remote file before anything else. */
  readonly needsHead: boolean;
  /** Bytes of the remote file from here on are asked for in units of so many; the last may be shorter. */
  readonly start: number;
  readonly unit: number;
  /** Bytes that the whole part has. Known once `needsHead` is false. */
  readonly partSize: number;
  /**
   * Takes bytes of the remote file from `position` on. When they break off, what came before is kept.
   *
   * @param kept told of bytes [start, end) of the remote file whose content is written
   * @throws what `bytes` throw; LocalDiskError
   */
  take(position: number, bytes: AsyncIterable<Uint8Array>, kept: (start: number, end: number) => void): Promise<void>;
  close(): void;
}

/** Written at once: large enough that the system calls do not matter, small enough to stay in the cache. */
const writeBytes = 1024 * 1024;
/** Buffers that one system call takes. */
const writeBuffers = 512;

/** The remote file as it is. */
export class ContainerSink implements Sink {
  readonly needsHead = false;
  readonly start = 0;
  readonly unit = 1;
  readonly partSize: number;
  readonly #part: Target;

  constructor(part: Target, size: number) {
    this.#part = part;
    this.partSize = size;
  }

  async take(
    position: number,
    bytes: AsyncIterable<Uint8Array>,
    kept: (start: number, end: number) => void,
  ): Promise<void> {
    let at = position;
    let held: Uint8Array[] = [];
    let size = 0;
    let writing: Promise<void> | undefined;
    // One write while the next bytes come: never more than two batches in memory.
    const write = async () => {
      const [buffers, start, end] = [held, at, at + size];
      at = end;
      held = [];
      size = 0;
      await writing;
      if (buffers.length === 0) return;
      writing = this.#part.write(buffers, start).then(() => {
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
        if (size >= writeBytes || held.length >= writeBuffers) await write();
      }
    } finally {
      await write();
      await writing;
    }
  }

  close(): void {}
}
