import { gunzipSync } from 'node:zlib';
import { RegionsError } from '../errors.ts';
import type { PlainSource, VirtualOffset } from '../virtual-offsets.ts';
import { expectReferences, ownText, type Reference } from './file-head.ts';

/** Bytes of the file definition: magic, version, file id (CRAM 3.0 § 6). */
const definitionBytes = 26;

/**
 * Reads the file definition and the container of the SAM header (CRAM 3.0 § 6, § 7, § 8.1), which ends where the next
 * container starts. CRAM 3.1 is the same here.
 */
export async function readCramHeader(
  source: PlainSource,
  limits: { readonly read: number; readonly inflated: number },
): Promise<{ references: Reference[]; end: VirtualOffset }> {
  const start = Buffer.from(await source.read(0, Math.min(2 ** 16, source.size)));
  if (start.toString('latin1', 0, 4) !== 'CRAM') throw new RegionsError('it does not start as a CRAM file does');
  if (start[4] !== 3) throw new RegionsError(`it is CRAM ${start[4]}.${start[5]}, and only version 3 is read`);
  const fields = new Fields(start, definitionBytes);
  const length = fields.i32();
  // Reference, start, span, records; counters of records and bases; blocks; landmarks; checksum.
  for (let field = 0; field < 4; field++) fields.itf8();
  fields.ltf8();
  fields.ltf8();
  fields.itf8();
  const landmarks = fields.itf8();
  for (let landmark = 0; landmark < landmarks; landmark++) fields.itf8();
  fields.i32();
  const end = fields.at + length;
  if (length <= 0 || end > source.size) throw new RegionsError(`its header container has ${length} bytes`);
  if (end > limits.read) throw new RegionsError(`the header does not end within ${limits.read} bytes`);
  const bytes = end <= start.length ? start.subarray(0, end) : await source.read(0, end);
  const text = headerText(Buffer.from(bytes), fields.at, limits.inflated);
  return { references: references(text), end: { block: end, within: 0 } };
}

/** The SAM header of the container's first block (CRAM 3.0 § 8.1, § 8.3): raw, or compressed by gzip. */
function headerText(bytes: Buffer, at: number, limit: number): string {
  const fields = new Fields(bytes, at);
  const [method, type] = [fields.byte(), fields.byte()];
  fields.itf8();
  const stored = fields.itf8();
  fields.itf8();
  if (type !== 0 || method > 1 || stored < 0 || fields.at + stored > bytes.length) {
    throw new RegionsError('its header container does not start with a SAM header, raw or compressed by gzip');
  }
  const data = bytes.subarray(fields.at, fields.at + stored);
  let text: Buffer;
  try {
    text = method === 0 ? data : gunzipSync(data, { maxOutputLength: limit });
  } catch {
    throw new RegionsError(`its SAM header does not inflate to at most ${limit} bytes`);
  }
  const length = text.length < 4 ? -1 : text.readInt32LE(0);
  if (length < 0 || 4 + length > text.length) throw new RegionsError('its SAM header is cut off');
  return text.toString('utf8', 4, 4 + length);
}

/** References of `@SQ` lines, in their order (SAMv1 § 1.3). */
function references(header: string): Reference[] {
  const references: Reference[] = [];
  for (const [line] of header.matchAll(/^@SQ\t.*$/gm)) {
    const name = ownText(/\tSN:([^\t]*)/.exec(line)?.[1] ?? '');
    const length = /\tLN:(\d+)/.exec(line)?.[1];
    expectReferences(references.push(length ? { name, length: Number(length) } : { name }));
  }
  return references;
}

/** Fields of a CRAM container or block. @throws RegionsError beyond the end. */
class Fields {
  readonly #bytes: Buffer;
  at: number;
  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw new RegionsError('its header container is cut off');
    return byte;
  }

  i32(): number {
    return this.byte() | (this.byte() << 8) | (this.byte() << 16) | (this.byte() << 24);
  }

  /** A variable-length integer of at most 32 bits (CRAM 3.0 § 2.3). */
  itf8(): number {
    const first = this.byte();
    const more = Math.min(Math.clz32(~(first << 24)), 4);
    if (more === 4) {
      return (first << 28) | (this.byte() << 20) | (this.byte() << 12) | (this.byte() << 4) | (this.byte() & 15);
    }
    let value = first & (0x7f >> more);
    for (let byte = 0; byte < more; byte++) value = (value << 8) | this.byte();
    return value;
  }

  /** Skips a variable-length integer of at most 64 bits (CRAM 3.0 § 2.3). */
  ltf8(): void {
    const more = Math.clz32(~(this.byte() << 24));
    for (let byte = 0; byte < Math.min(more, 8); byte++) this.byte();
  }
}
