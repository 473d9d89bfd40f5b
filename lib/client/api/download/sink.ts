import { giveBack } from '../read-memory.ts';
import type { KeptRanges, Target } from './disk/part-file.ts';

/** What an edit list keeps of the plaintext. */
export interface Edit extends KeptRanges {
  /** SHA-256 in hex of the header that has the list. */
  readonly headerSha256: string;
}

/** Writes bytes of the remote file, in the form that is kept, to their place in the part. */
export interface Sink {
  /** Whether it needs the beginning of the remote file first. */
  readonly needsHead: boolean;
  /** Position in the remote file from which units are counted. */
  readonly start: number;
  /** Bytes of a unit: requests ask for whole units; the last one may be shorter. */
  readonly unit: number;
  /** `undefined`: all of the plaintext is kept. Known once `needsHead` is false. */
  readonly edit: Edit | undefined;
  /** Bytes of the whole part. Known once `needsHead` is false. */
  readonly partSize: number;
  /**
   * Takes bytes of the remote file from `position` on. If they break off, the bytes before are kept.
   * @param kept called with bytes [start, end) of the remote file after their content is written
   * @throws errors of `bytes`; LocalDiskError
   */
  take(position: number, bytes: AsyncIterable<Uint8Array>, kept: (start: number, end: number) => void): Promise<void>;
  close(): void;
}

/** Bytes of one write: enough to make system calls cheap, few enough to stay in the cache. */
const writeBytes = 1024 * 1024;
/** Most buffers of one write: what one system call takes. */
const writeBuffers = 512;

/** Writes the remote file as it is. */
export class ContainerSink implements Sink {
  readonly needsHead = false;
  readonly edit = undefined;
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
    // One write runs while the next bytes come: at most two batches are in memory.
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
