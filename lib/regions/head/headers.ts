import type { ByteReader } from '../blocks/byte-reader.ts';
import { RegionsError } from '../errors.ts';
import { expectReferences, ownText, type Reference } from './file-head.ts';

/** Most bytes of one field or line. A reader of the whole header holds no more than its inflated limit either. */
const mostFieldBytes = 32 * 2 ** 20;
/** Most lines of a VCF header, twice as many as it may have contigs. */
const mostLines = 2 ** 21;

/** Reads a BAM header up to its first record (SAMv1 § 4.2). */
export async function readBamHeader(reader: ByteReader): Promise<Reference[]> {
  await magic(reader, 'BAM\x01', 'BAM');
  await skip(reader, await length(reader, 'the length of its text'), 'its text');
  const count = await length(reader, 'the number of its references');
  expectReferences(count);
  const references: Reference[] = [];
  while (references.length < count) {
    const nameBytes = await length(reader, 'the length of a reference name');
    await reader.need(nameBytes + 4, 'a reference');
    const name = untilNul(reader.take(nameBytes));
    references.push({ name, length: reader.u32() });
  }
  return references;
}

/** Reads a BCF header up to its first record (VCFv4.3 § 6.2). Contigs are numbered by `IDX`, else by their order. */
export async function readBcfHeader(reader: ByteReader): Promise<Reference[]> {
  await magic(reader, 'BCF\x02', 'BCF');
  await reader.need(1, 'its version');
  reader.take(1);
  const bytes = await length(reader, 'the length of its text');
  await reader.need(bytes, 'its text');
  const text = untilNul(reader.take(bytes));
  return contigs(Array.from(text.matchAll(/^##contig=.*$/gm), ([line]) => line));
}

/** Reads the lines of a VCF header up to the first record (VCFv4.3 § 1): those that start with `#`. */
export async function readVcfHeader(reader: ByteReader): Promise<Reference[]> {
  const lines: string[] = [];
  for (let number = 0; await reader.fill(1); number++) {
    const first = number === 0;
    if (reader.peek() !== 0x23) {
      if (first) break;
      return contigs(lines);
    }
    if (number === mostLines) throw new RegionsError(`its header has more than ${mostLines} lines`);
    let end = reader.newline();
    for (let isMore = true; end < 0 && isMore; end = reader.newline()) {
      // Twice as much each time, so that a long line is not copied once per block.
      isMore = await reader.fill(reader.buffered * 2);
    }
    const line = reader.take(end < 0 ? reader.buffered : end + 1).toString();
    if (first && !line.startsWith('##fileformat=VCF')) throw new RegionsError('it does not start as a VCF file does');
    if (line.startsWith('##contig=')) lines.push(line.trimEnd());
  }
  if (reader.position === 0) throw new RegionsError('it does not start as a VCF file does');
  return contigs(lines);
}

/** Contigs of VCF header lines (VCFv4.3 § 1.4.7), by number. */
function contigs(lines: readonly string[]): Reference[] {
  const references: Reference[] = [];
  const names = new Set<string>();
  for (const line of lines) {
    const fields = /^##contig=<(.*)>\s*$/.exec(line)?.[1];
    const name = fields && /(?:^|,)ID=([^,]+)/.exec(fields)?.[1];
    if (!name || names.has(name)) continue;
    const bases = /(?:^|,)length=(\d+)/.exec(fields)?.[1];
    const index = Number(/(?:^|,)IDX=(\d+)/.exec(fields)?.[1] ?? names.size);
    if (index > lines.length * 2 + 2 ** 20) throw new RegionsError(`a contig has the number ${index}`);
    names.add(name);
    expectReferences(names.size);
    references[index] = { name: ownText(name), ...(bases ? { length: Number(bases) } : {}) };
  }
  return references;
}

async function magic(reader: ByteReader, expected: string, format: string): Promise<void> {
  const found = (await reader.fill(4)) ? reader.take(4).toString('latin1') : '';
  if (found !== expected) throw new RegionsError(`it does not start as a ${format} file does`);
}

async function length(reader: ByteReader, what: string): Promise<number> {
  await reader.need(4, what);
  const value = reader.i32();
  if (value < 0 || value > mostFieldBytes)
    throw new RegionsError(`${what} is ${value}, outside of 0 to ${mostFieldBytes}`);
  return value;
}

async function skip(reader: ByteReader, bytes: number, what: string): Promise<void> {
  for (let left = bytes; left > 0; ) {
    await reader.need(1, what);
    left -= reader.take(Math.min(left, reader.buffered)).length;
  }
}

function untilNul(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
}
