/** Bytes of one slab. */
const slabBytes = 1024 * 1024;
/** When less than this is left of a slab, the next one begins. */
const leastReadBytes = 256 * 1024;
/** Slabs that wait to be used again. */
const mostFree = 32;

interface Slab {
  readonly memory: Buffer;
  /** Bytes read into it, and those of them that nobody looks at any more. */
  filled: number;
  done: number;
  /** Nothing more is read into it. */
  isFull: boolean;
}

const free: Slab[] = [];
const slabs = new WeakMap<ArrayBufferLike, Slab>();

/** Memory that one connection reads into, one slab after the other. */
export class ReadMemory {
  #slab: Slab | undefined;

  /** Where the next read goes. */
  next(): Buffer {
    if (this.#slab && slabBytes - this.#slab.filled < leastReadBytes) {
      this.#slab.isFull = true;
      reuse(this.#slab);
      this.#slab = undefined;
    }
    this.#slab ??= free.pop() ?? made();
    return this.#slab.memory.subarray(this.#slab.filled);
  }

  /** What has been read: the first bytes of what `next` gave. */
  read(bytes: number): Buffer {
    const slab = this.#slab;
    if (slab === undefined) throw new TypeError('expected a call of next before');
    slab.filled += bytes;
    return slab.memory.subarray(slab.filled - bytes, slab.filled);
  }
}

/**
 * Says that nobody looks at these bytes any more: to be said once, by who took them off a reply. When that was said of all
 * bytes of a slab, it is used again; a slab of which it was not is left to the garbage collector, which has much less to
 * do then.
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
