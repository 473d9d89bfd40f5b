import { type Block, blocksOf, compressBlocks } from '../blocks/bgzf.ts';
import { ByteReader } from '../blocks/byte-reader.ts';
import { RegionsError } from '../errors.ts';
import type { DataFormat } from '../formats.ts';
import type { PlainSource, VirtualRange } from '../places.ts';
import { readCramHeader } from './cram.ts';
import type { FileHead } from './file-head.ts';
import { readBamHeader, readBcfHeader, readVcfHeader } from './headers.ts';

/** Most bytes that are read to find the end of a header, and most that it can have once it is inflated. */
const limits = { read: 16 * 2 ** 20, inflated: 32 * 2 ** 20 };
/** Most blocks of a header: inflating one takes time even if it is empty. */
const mostBlocks = 8192;

/**
 * Reads the header (SAMv1 § 4.2, VCFv4.3 § 1 and § 6, CRAM 3.0 § 7): one read, or more for a header above 192 KiB.
 *
 * @throws RegionsError if the file is not of this format, is cut off within its header, or has a header above 16 MiB
 * (32 MiB inflated).
 */
export async function readHead(source: PlainSource, format: DataFormat): Promise<FileHead> {
  const { size } = source;
  if (format === 'CRAM') return { format, size, ...(await readCramHeader(source, limits)) };
  const blocks: (Block & { readonly plainStart: number })[] = [];
  let plain = 0;
  async function* inflated() {
    for await (const block of blocksOf(source, limits.read)) {
      blocks.push({ ...block, plainStart: plain });
      plain += block.data.length;
      if (plain > limits.inflated) throw new RegionsError(`the header does not end within ${limits.inflated} bytes`);
      if (blocks.length > mostBlocks) throw new RegionsError(`the header does not end within ${mostBlocks} blocks`);
      yield block.data;
    }
  }
  const reader = new ByteReader(inflated(), 'the header is cut off: ');
  const references = await { BAM: readBamHeader, VCF: readVcfHeader, BCF: readBcfHeader }[format](reader);
  const index = blocks.findLastIndex(({ plainStart }) => plainStart < reader.position);
  const last = blocks[index];
  if (!last) throw new RegionsError('the file is empty');
  const within = reader.position - last.plainStart;
  const sharesBlock = within < last.data.length;
  const end = sharesBlock ? { block: last.start, within } : { block: last.end, within: 0 };
  const bytes = Buffer.concat([
    ...blocks.slice(0, index).map(({ compressed }) => compressed),
    sharesBlock ? compressBlocks(last.data.subarray(0, within)) : last.compressed,
  ]);
  return { format, size, references, bytes, end };
}

/** All of a file behind its header, an end marker included; needs no index. */
export function wholeFile({ end, size }: FileHead): VirtualRange {
  return { start: end, end: { block: size, within: 0 } };
}
