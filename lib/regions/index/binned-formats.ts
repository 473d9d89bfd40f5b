import type { ByteReader } from '../blocks/byte-reader.ts';
import { RegionsError } from '../errors.ts';
import { BinnedIndex, type Scheme } from './binned-index.ts';
import type { Budget } from './offsets.ts';

/** Bins of 16 kb in six levels, as BAI and Tabix have them (SAMv1 § 5.3). */
const fixedScheme: Scheme = { minShift: 14, depth: 5 };
/** Most levels below the first whose bins have numbers of 32 bits. */
const deepest = 9;
/** Most bytes of reference names. */
const mostNameBytes = 4 * 2 ** 20;

/** BAI (SAMv1 § 5.2). */
export async function readBai(reader: ByteReader, budget: Budget): Promise<BinnedIndex> {
  reader.take(4);
  const count = await counted(reader, 'the number of its references');
  return await readReferences(reader, new BinnedIndex(fixedScheme, budget), count, 'linear');
}

/** Tabix (Tabix § 2): names in front of bins as of BAI. */
export async function readTabix(reader: ByteReader, budget: Budget): Promise<BinnedIndex> {
  reader.take(4);
  const count = await counted(reader, 'the number of its references');
  const names = await readNames(reader, budget);
  if (names.length !== count) throw new RegionsError(`it has ${count} references and ${names.length} names`);
  return await readReferences(reader, new BinnedIndex(fixedScheme, budget, names), count, 'linear');
}

/** CSI (CSIv1 § 2). Of text files, its auxiliary data are those of Tabix. */
export async function readCsi(reader: ByteReader, budget: Budget): Promise<BinnedIndex> {
  reader.take(4);
  await reader.need(12, 'its scheme of bins');
  const [minShift, depth, auxiliary] = [reader.i32(), reader.i32(), reader.i32()];
  if (minShift < 1 || minShift > 30 || depth < 0 || depth > deepest) {
    throw new RegionsError(`its smallest bins have 2^${minShift} positions and its levels are ${depth}`);
  }
  if (auxiliary < 0 || auxiliary > mostNameBytes + 28)
    throw new RegionsError(`its auxiliary data have ${auxiliary} bytes`);
  const before = reader.position;
  const names = auxiliary >= 28 ? await readNames(reader, budget) : undefined;
  const rest = auxiliary - (reader.position - before);
  if (rest < 0) throw new RegionsError('its names are longer than its auxiliary data');
  await reader.need(rest, 'its auxiliary data');
  reader.take(rest);
  const count = await counted(reader, 'the number of its references');
  return await readReferences(reader, new BinnedIndex({ minShift, depth }, budget, names), count, 'perBin');
}

async function readReferences(
  reader: ByteReader,
  index: BinnedIndex,
  count: number,
  lowest: 'linear' | 'perBin',
): Promise<BinnedIndex> {
  for (let reference = 0; reference < count; reference++) {
    index.startReference();
    // Waiting takes far longer than a field, so only an empty buffer is waited for.
    if (reader.buffered < 4) await reader.need(4, 'the number of bins');
    const bins = nonNegative(reader.i32(), 'the number of bins');
    for (let bin = 0; bin < bins; bin++) {
      if (reader.buffered < 16) await reader.need(lowest === 'perBin' ? 16 : 8, 'a bin');
      const number = reader.u32();
      const [low, high] = lowest === 'perBin' ? [reader.u32(), reader.u32()] : [0, 0];
      index.startBin(number, low, high);
      for (let left = nonNegative(reader.i32(), 'the number of chunks'); left > 0; ) {
        if (reader.buffered < 16) await reader.need(16, 'a chunk');
        for (; left > 0 && reader.buffered >= 16; left--)
          index.addChunk(reader.u32(), reader.u32(), reader.u32(), reader.u32());
      }
    }
    if (lowest === 'perBin') continue;
    for (let left = await counted(reader, 'the number of intervals'); left > 0; ) {
      await reader.need(8, 'an interval');
      for (; left > 0 && reader.buffered >= 8; left--) index.addWindow(reader.u32(), reader.u32());
    }
  }
  // The number of unplaced reads is optional (SAMv1 § 5.2, CSIv1 § 2).
  index.finish((await reader.fill(8)) ? reader.u32() + reader.u32() * 2 ** 32 : undefined);
  return index;
}

/** The fields that Tabix has between the number of references and their bins (Tabix § 2). */
async function readNames(reader: ByteReader, budget: Budget): Promise<string[]> {
  await reader.need(28, 'its columns');
  // Kind of file, three columns, the comment character, lines to skip.
  reader.take(24);
  const bytes = nonNegative(reader.i32(), 'the length of its names');
  if (bytes > mostNameBytes) throw new RegionsError(`its names have ${bytes} bytes, above ${mostNameBytes}`);
  // A short name takes sixteen times the memory of its bytes.
  budget.take(bytes * 16);
  await reader.need(bytes, 'its names');
  return reader.take(bytes).toString().split('\0').slice(0, -1);
}

async function counted(reader: ByteReader, what: string): Promise<number> {
  await reader.need(4, what);
  return nonNegative(reader.i32(), what);
}

function nonNegative(value: number, what: string): number {
  if (value < 0) throw new RegionsError(`${what} is ${value}`);
  return value;
}
