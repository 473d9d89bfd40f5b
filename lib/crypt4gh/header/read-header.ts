import { MalformedHeaderError } from '../errors.ts';
import { type RandomAccessSource, readFully } from '../source.ts';
import { HeaderScanner } from './header.ts';

/** Bytes of the first read: enough for thirty recipients, so there is mostly no second one. */
const firstReadBytes = 4_096;

/**
 * The header at the start of a source that is read by position. It reads little first and then more, so that hardly any of the
 * body is read.
 */
export async function readHeader(source: RandomAccessSource): Promise<Uint8Array> {
  const scanner = new HeaderScanner();
  let bytes: Buffer = Buffer.alloc(0);
  for (let wanted = firstReadBytes; ; ) {
    bytes = Buffer.concat([bytes, await readFully(source, bytes.length, wanted - bytes.length)]);
    const length = scanner.scan(bytes);
    if (length !== undefined) return bytes.subarray(0, length);
    if (bytes.length < wanted) throw new MalformedHeaderError('truncated-header', 'the input ends inside the header');
    // Twice as much each time, up to the scanner's limit of headers.
    wanted *= 2;
  }
}
