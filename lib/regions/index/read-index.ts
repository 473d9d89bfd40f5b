import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ByteReader } from '../blocks/byte-reader.ts';
import { RegionsError } from '../errors.ts';
import { readBai, readCsi, readTabix } from './binned-formats.ts';
import { readCrai } from './crai.ts';
import { Budget } from './offsets.ts';
import type { RegionIndex } from './region-index.ts';

/** Limits of one index. */
export interface IndexLimits {
  /** Most bytes of memory that it may hold; default 48 MiB, enough for 3 million chunks. */
  readonly memoryBytes?: number;
  /** Most bytes that it may have once it is inflated; default 1 GiB. */
  readonly inflatedBytes?: number;
  /** Bytes of the file whose records it names. It may have twice as many and 32 MiB more, which a genome of a million contigs needs. */
  readonly dataBytes?: number;
}

/** Most bytes of an inflated index, and most of one whose file is empty. */
const mostBytes = 2 ** 30;
const mostBytesOfNothing = 32 * 2 ** 20;

/**
 * Reads an index in one pass: BAI (SAMv1 § 5.2), CSI (CSIv1), Tabix (Tabix § 2), or CRAI (CRAM 3.0 § 12), told by its first bytes;
 * compressed by gzip or not.
 *
 * @throws RegionsError for the first rule that is broken. @throws RegionsError beyond a limit.
 */
export async function readIndex(bytes: AsyncIterable<Uint8Array>, limits: IndexLimits = {}): Promise<RegionIndex> {
  const budget = new Budget(limits.memoryBytes ?? 48 * 2 ** 20);
  const ofData = limits.dataBytes === undefined ? mostBytes : mostBytesOfNothing + 2 * limits.dataBytes;
  const inflatedBytes = limits.inflatedBytes ?? Math.min(mostBytes, ofData);
  const reader = new ByteReader(limited(await plainOf(bytes), inflatedBytes));
  try {
    await reader.fill(4);
    const magic = reader.peekText(4);
    if (magic === 'BAI\x01') return await readBai(reader, budget);
    if (magic === 'CSI\x01') return await readCsi(reader, budget);
    if (magic === 'TBI\x01') return await readTabix(reader, budget);
    if (/^(-?\d|$)/.test(magic)) return await readCrai(reader, budget);
    throw new RegionsError('it starts as none of BAI, CSI, TBI and CRAI does');
  } catch (error) {
    if (error instanceof RegionsError || !isOfZlib(error)) throw error;
    throw new RegionsError('its compression is damaged');
  } finally {
    await reader.close();
  }
}

/** Inflates what starts as gzip does, with all of its members. */
async function plainOf(bytes: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const reader = new ByteReader(bytes);
  await reader.fill(2);
  async function* rest() {
    try {
      while (await reader.fill(1)) yield reader.take(reader.buffered);
    } finally {
      await reader.close();
    }
  }
  if (reader.peekText(2) !== '\x1f\x8b') return rest();
  const gunzip = createGunzip({ chunkSize: 2 ** 18 });
  pipeline(Readable.from(rest(), { objectMode: false, highWaterMark: 2 ** 18 }), gunzip, () => {
    // The reader of `gunzip` sees the same error.
  });
  return gunzip;
}

async function* limited(bytes: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const piece of bytes) {
    total += piece.length;
    if (total > limit) throw new RegionsError(`it has more than ${limit} bytes`);
    yield piece;
  }
}

function isOfZlib(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^Z_|^ERR_STREAM_PREMATURE/.test(String(error.code));
}
