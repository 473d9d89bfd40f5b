import { MalformedHeaderError } from '../errors.ts';
import { type RandomAccessSource, readFully } from '../source.ts';
import { HeaderScanner } from './header.ts';

/** First read of a header: enough for thirty recipients, so mostly the only one. */
const firstReadBytes = 4_096;

/**
 * The header at the start of a source that is read by position. Reads little first and then more, so that the body is
 * hardly touched.
 *
 * @throws MalformedHeaderError
 */
export async function readHeader(source: RandomAccessSource): Promise<Uint8Array> {
  const scanner = new HeaderScanner();
  let bytes: Buffer = Buffer.alloc(0);
  for (let wanted = firstReadBytes; ; ) {
    bytes = Buffer.concat([bytes, await readFully(source, bytes.length, wanted - bytes.length)]);
    const length = scanner.scan(bytes);
    if (length !== undefined) return bytes.subarray(0, length);
    if (bytes.length < wanted) throw new MalformedHeaderError('truncated-header', 'the input ends inside the header');
    // Twice as much each time: the scanner stops it at the limit of headers.
    wanted *= 2;
  }
}
