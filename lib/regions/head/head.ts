import { type Block, blocksOf, compressBlocks } from '../blocks/bgzf.ts';
import { ByteReader } from '../blocks/byte-reader.ts';
import { LyingFileError } from '../errors.ts';
import { type DataFormat, endMarkers } from '../formats.ts';
import type { PlainSource, VirtualRange } from '../places.ts';
import { readCramHeader } from './cram.ts';
import type { FileHead } from './file-head.ts';
import { readBamHeader, readBcfHeader, readVcfHeader } from './headers.ts';

/** Most bytes that are read to find the end of a header, and most that it can have once it is inflated. */
const limits = { read: 16 * 2 ** 20, inflated: 32 * 2 ** 20 };
/** Most blocks of a header: inflating one takes time even if it is empty. */
const mostBlocks = 8192;

/**
 * Reads the header (SAMv1 § 4.2, VCFv4.3 § 1 and § 6, CRAM 3.0 § 7): one read, or more for a header above 192 KiB. Where the
 * records end is left to {@link withEnd}.
 *
 * @throws LyingFileError if the file is not of this format, is cut off within its header, or has a header above 16 MiB
 * (32 MiB inflated).
 */
export async function readHeader(source: PlainSource, format: DataFormat): Promise<FileHead> {
  const common = { format, size: source.size, dataEnd: source.size, isEndKnown: false };
  if (format === 'CRAM') return { ...common, ...(await readCramHeader(source, limits)), sharesBlock: false };
  const blocks: (Block & { readonly plainStart: number })[] = [];
  let plain = 0;
  async function* inflated() {
    for await (const block of blocksOf(source, limits.read)) {
      blocks.push({ ...block, plainStart: plain });
      plain += block.data.length;
      if (plain > limits.inflated) throw new LyingFileError(`the header does not end within ${limits.inflated} bytes`);
      if (blocks.length > mostBlocks) throw new LyingFileError(`the header does not end within ${mostBlocks} blocks`);
      yield block.data;
    }
  }
  const reader = new ByteReader(inflated(), (message) => new LyingFileError(`the header is cut off: ${message}`));
  const references = await { BAM: readBamHeader, VCF: readVcfHeader, BCF: readBcfHeader }[format](reader);
  const index = blocks.findLastIndex(({ plainStart }) => plainStart < reader.position);
  const last = blocks[index];
  if (!last) throw new LyingFileError('the file is empty');
  const within = reader.position - last.plainStart;
  const sharesBlock = within < last.data.length;
  const end = sharesBlock ? { block: last.start, within } : { block: last.end, within: 0 };
  const bytes = Buffer.concat([
    ...blocks.slice(0, index).map(({ compressed }) => compressed),
    sharesBlock ? compressBlocks(last.data.subarray(0, within)) : last.compressed,
  ]);
  return { ...common, references, bytes, end, sharesBlock };
}

/** All records of a file; needs no index. */
export function wholeFile(head: FileHead): VirtualRange {
  return { start: head.end, end: { block: Math.max(head.dataEnd, head.end.block), within: 0 } };
}

/** The head with the place of the end marker: one read of a few bytes, unless it is known. */
export async function withEnd(source: PlainSource, head: FileHead): Promise<FileHead> {
  if (head.isEndKnown) return head;
  const { size } = source;
  const marker = endMarkers[head.format];
  const tail = size < marker.length ? new Uint8Array() : await source.read(size - marker.length, size);
  return { ...head, dataEnd: Buffer.compare(tail, marker) === 0 ? size - marker.length : size, isEndKnown: true };
}

/** Reads the header, and looks for the end marker. @throws as {@link readHeader} */
export async function readHead(source: PlainSource, format: DataFormat): Promise<FileHead> {
  return withEnd(source, await readHeader(source, format));
}

/** Whether the ranges depend on where the records end: they reach to where an end marker would be. */
export function reachEnd(ranges: readonly VirtualRange[], { format, size }: FileHead): boolean {
  return ranges.some(({ end }) => end.block > size - endMarkers[format].length);
}
