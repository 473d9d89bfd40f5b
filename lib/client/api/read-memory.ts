/** Bytes of one slab of memory. */
const slabBytes = 1024 * 1024;
/** If less than this is left of a slab, the next one begins. */
const leastReadBytes = 256 * 1024;
/** Most slabs that wait to be used again. */
const mostFree = 32;

interface Slab {
  readonly memory: Buffer;
  /** Bytes read into it, and bytes of those that were given back. */
  filled: number;
  done: number;
  /** Whether nothing more is read into it. */
  isFull: boolean;
}

const free: Slab[] = [];
const slabs = new WeakMap<ArrayBufferLike, Slab>();

/** Memory for the reads of one connection, one slab after the other. */
export class ReadMemory {
  #slab: Slab | undefined;

  /** The memory for the next read. */
  next(): Buffer {
    if (this.#slab && slabBytes - this.#slab.filled < leastReadBytes) {
      this.#slab.isFull = true;
      reuse(this.#slab);
      this.#slab = undefined;
    }
    this.#slab ??= free.pop() ?? made();
    return this.#slab.memory.subarray(this.#slab.filled);
  }

  /** The bytes that were read: the first of those that `next` gave. */
  read(bytes: number): Buffer {
    const slab = this.#slab;
    if (slab === undefined) throw new TypeError('expected a call of next before');
    slab.filled += bytes;
    return slab.memory.subarray(slab.filled - bytes, slab.filled);
  }
}

/**
 * Gives bytes of a reply back, once; the caller no longer uses them. A slab is used again when all of its bytes were
 * given back. The garbage collector takes a slab whose bytes were not.
 */
export function giveBack(chunks: Iterable<Uint8Array>): void {
  for (const { buffer, length } of chunks) {
    const slab = slabs.get(buffer);
    if (slab === undefined) continue;
    slab.done += length;
    reuse(slab);
  }
}

function reuse(slab: Slab): void {
  if (!slab.isFull || slab.done !== slab.filled || free.length >= mostFree) return;
  slab.filled = 0;
  slab.done = 0;
  slab.isFull = false;
  free.push(slab);
}

function made(): Slab {
  const slab = { memory: Buffer.allocUnsafeSlow(slabBytes), filled: 0, done: 0, isFull: false };
  slabs.set(slab.memory.buffer, slab);
  return slab;
}
