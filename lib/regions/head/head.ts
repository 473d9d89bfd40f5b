import { type Block, blocksOf } from '../blocks/bgzf.ts';
import { ByteReader } from '../blocks/byte-reader.ts';
import { RegionsError } from '../errors.ts';
import type { DataFormat } from '../formats.ts';
import { openPart } from '../recompressed.ts';
import type { PlainSource, VirtualRange } from '../virtual-offsets.ts';
import { readCramHeader } from './cram.ts';
import { type FileHead, referenceBytes } from './file-head.ts';
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
  const { references, end } =
    format === 'CRAM' ? await readCramHeader(source, limits) : await readBlockedHeader(source, format);
  const header = await openPart(source, format, { start: { block: 0, within: 0 }, end });
  const bytes = Buffer.concat(await Array.fromAsync(header.stream()));
  const memoryBytes = references.reduce(
    (sum, each) => sum + referenceBytes + 2 * (each?.name.length ?? 0),
    bytes.length,
  );
  return { format, size: source.size, references, bytes, end, memoryBytes };
}

/** The header in BGZF blocks. */
async function readBlockedHeader(
  source: PlainSource,
  format: Exclude<DataFormat, 'CRAM'>,
): Promise<Pick<FileHead, 'references' | 'end'>> {
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
  const last = blocks.findLast(({ plainStart }) => plainStart < reader.position);
  if (!last) throw new RegionsError('the file is empty');
  const within = reader.position - last.plainStart;
  const end = within < last.data.length ? { block: last.start, within } : { block: last.end, within: 0 };
  return { references, end };
}

/** All of a file behind its header, an end marker included; needs no index. */
export function wholeFile({ end, size }: FileHead): VirtualRange {
  return { start: end, end: { block: size, within: 0 } };
}
