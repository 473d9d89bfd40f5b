import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  createReadStream,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { combinedCrc, crcOf, emptyCrc } from '../../common/crc64nvme.ts';
import { release } from '../../common/memory.ts';
import { isCode } from '../errors.ts';

/** Bytes [start, end) of a data file. */
export interface Extent {
  /** Id of the data file's content: the same in every object that shares it. */
  readonly content: string;
  readonly start: number;
  readonly end: number;
}

/** Where bytes lie: runs of data files that belong to one owner (an object or an unfinished upload). */
export interface Stored {
  readonly owner: string;
  readonly extents: readonly Extent[];
}

/** A file has a CRC for each block, so that the CRC of any range of it needs at most two of them read. */
const blockBytes = 1024 * 1024;
const crcBytes = 8;
/** Bytes of one read. */
const pieceBytes = 1024 * 1024;

/** A fresh id for an owner or a content. */
export function newId(): string {
  return randomBytes(16).toString('hex');
}

/**
 * The files that hold the bytes of objects and parts. A file is written once, under a name that nothing refers to yet.
 * A copy inside S3 copies no bytes: its owner gets its own hard link. So the disk frees the bytes with the last
 * link, even if the process dies between two steps.
 */
export class DataFiles {
  readonly #folder: string;
  /** By owner: how many readers its files have, and which of them to remove when the last reader is gone. */
  readonly #held = new Map<string, { readers: number; readonly removed: string[] }>();

  constructor(folder: string) {
    this.#folder = folder;
    for (let shard = 0; shard < 256; shard += 1) {
      mkdirSync(join(folder, shard.toString(16).padStart(2, '0')), { recursive: true });
    }
  }

  /** Write a new file. Nothing is left of it when `bytes` fails. */
  async write(owner: string, bytes: AsyncIterable<Uint8Array>): Promise<{ stored: Stored; size: number; crc: bigint }> {
    const content = newId();
    const path = this.#path(owner, content);
    const crcs: bigint[] = [];
    let size = 0;
    try {
      await using file = await open(path, 'wx', 0o600);
      for await (const block of inBlocks(bytes)) {
        await file.appendFile(block);
        crcs.push(await crcOf(block));
        size += block.length;
        release(block);
      }
      if (crcs.length > 1) writeFileSync(sidecar(path), packed(crcs), { flag: 'wx', mode: 0o600 });
    } catch (error) {
      this.remove(owner, [content]);
      throw error;
    }
    // No extent refers to an empty file.
    if (size === 0) this.remove(owner, [content]);
    const crc = crcs.reduce(
      (sum, one, index) => combinedCrc(sum, one, Math.min(blockBytes, size - index * blockBytes)),
      emptyCrc,
    );
    return { stored: { owner, extents: size === 0 ? [] : [{ content, start: 0, end: size }] }, size, crc };
  }

  /** Let `owner` share files of another owner. Bytes are copied only on a disk without hard links. */
  share(from: Stored, owner: string): Stored {
    for (const content of contentsOf(from.extents)) {
      const [source, target] = [this.#path(from.owner, content), this.#path(owner, content)];
      link(source, target);
      try {
        link(sidecar(source), sidecar(target));
      } catch (error) {
        if (!isCode(error, 'ENOENT')) throw error;
      }
    }
    return { owner, extents: from.extents };
  }

  /** Remove all the files of an object or a part. */
  discard({ owner, extents }: Stored): void {
    this.remove(owner, contentsOf(extents));
  }

  /** Remove files. Those that are being read go when their last reader is gone. */
  remove(owner: string, contents: Iterable<string>): void {
    const held = this.#held.get(owner);
    if (held) {
      held.removed.push(...contents);
      return;
    }
    for (const content of contents) {
      const path = this.#path(owner, content);
      rmSync(path, { force: true });
      rmSync(sidecar(path), { force: true });
    }
  }

  /** Keep the files of an owner, also when they are removed meanwhile. @returns a function that ends it */
  hold(owner: string): () => void {
    const held = this.#held.get(owner) ?? { readers: 0, removed: [] };
    held.readers += 1;
    this.#held.set(owner, held);
    return () => {
      held.readers -= 1;
      if (held.readers > 0) return;
      this.#held.delete(owner);
      this.remove(owner, held.removed);
    };
  }

  /** The bytes. The files are held until the stream is closed, and opened one at a time: an object may have 10,000. */
  read(stored: Stored): Readable {
    return Readable.from(this.#pieces(stored), { objectMode: false }).once('close', this.hold(stored.owner));
  }

  async *#pieces({ owner, extents }: Stored): AsyncGenerator<Uint8Array> {
    for (const { content, start, end } of extents) {
      yield* createReadStream(this.#path(owner, content), { start, end: end - 1, highWaterMark: pieceBytes });
    }
  }

  /** CRC-64/NVME of the bytes. */
  async crc({ owner, extents }: Stored): Promise<bigint> {
    let sum = emptyCrc;
    for (const extent of extents) {
      const crcs = this.#blocks(owner, extent.content);
      for (let start = extent.start; start < extent.end; ) {
        const block = Math.floor(start / blockBytes);
        const end = Math.min((block + 1) * blockBytes, extent.end);
        const known = end - start === blockBytes ? crcs?.readBigUInt64BE(block * crcBytes) : undefined;
        const crc = known ?? (await crcOf(await this.#read(owner, { content: extent.content, start, end })));
        sum = combinedCrc(sum, crc, end - start);
        start = end;
      }
    }
    return sum;
  }

  async #read(owner: string, { content, start, end }: Extent): Promise<Uint8Array> {
    await using file = await open(this.#path(owner, content), 'r');
    const bytes = Buffer.allocUnsafe(end - start);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
    if (bytesRead !== bytes.length) throw new Error(`a data file of the local S3 is shorter than it was: ${content}`);
    return bytes;
  }

  #blocks(owner: string, content: string): Buffer | undefined {
    try {
      return readFileSync(sidecar(this.#path(owner, content)));
    } catch (error) {
      if (isCode(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  #path(owner: string, content: string): string {
    return join(this.#folder, owner.slice(0, 2), `${owner}.${content}`);
  }
}

/** The contents of extents, each once. */
export function contentsOf(extents: readonly Extent[]): Set<string> {
  return new Set(extents.map(({ content }) => content));
}

/** Bytes [start, end) of the extents. */
export function slice(extents: readonly Extent[], start: number, end: number): Extent[] {
  const found: Extent[] = [];
  let position = 0;
  for (const extent of extents) {
    const from = Math.max(start - position, 0);
    const to = Math.min(end - position, extent.end - extent.start);
    if (from < to) found.push({ content: extent.content, start: extent.start + from, end: extent.start + to });
    position += extent.end - extent.start;
  }
  return found;
}

/** The extents of all, one behind the other. Neighbours in one file become one extent. */
export function joined(lists: Iterable<readonly Extent[]>): Extent[] {
  const all: Extent[] = [];
  for (const list of lists) {
    for (const extent of list) {
      const last = all.at(-1);
      if (last?.content === extent.content && last.end === extent.start) {
        all[all.length - 1] = { ...last, end: extent.end };
      } else all.push(extent);
    }
  }
  return all;
}

/** The pieces joined into blocks. Only the last one may be shorter. */
async function* inBlocks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let block: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bytes) {
    for (let rest = piece; rest.length > 0; ) {
      const taken = rest.subarray(0, blockBytes - size);
      block.push(taken);
      size += taken.length;
      rest = rest.subarray(taken.length);
      if (size < blockBytes) continue;
      yield Buffer.concat(block);
      block = [];
      size = 0;
    }
  }
  if (size > 0) yield Buffer.concat(block);
}

function link(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    if (isCode(error, 'EEXIST')) return;
    if (!isCode(error, 'EPERM', 'ENOTSUP', 'EMLINK', 'ENOSYS', 'EXDEV')) throw error;
    if (!existsSync(target)) copyFileSync(source, target);
  }
}

function sidecar(path: string): string {
  return `${path}.crc64nvme`;
}

function packed(crcs: readonly bigint[]): Buffer {
  const bytes = Buffer.alloc(crcs.length * crcBytes);
  for (const [index, crc] of crcs.entries()) bytes.writeBigUInt64BE(crc, index * crcBytes);
  return bytes;
}
