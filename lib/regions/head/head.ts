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
 * Reads the header (SAMv1 § 4.2, VCFv4.3 § 1 and § 6, CRAM 3.0 § 7) and looks for the end marker: two reads, or more for
 * a header above 192 KiB.
 *
 * @throws LyingFileError if the file is not of this format, is cut off within its header, or has a header above 16 MiB
 * (32 MiB inflated).
 */
export async function readHead(source: PlainSource, format: DataFormat): Promise<FileHead> {
  const dataEnd = await endOfData(source, format);
  const common = { format, size: source.size, dataEnd };
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

/** Offset of the end marker, or the file's size if it does not end with one. */
async function endOfData(source: PlainSource, format: DataFormat): Promise<number> {
  const marker = endMarkers[format];
  if (source.size < marker.length) return source.size;
  const tail = await source.read(source.size - marker.length, source.size);
  return Buffer.compare(tail, marker) === 0 ? source.size - marker.length : source.size;
}
