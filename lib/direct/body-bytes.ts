import type { Archive, ContainerSource } from '../archive/ports.ts';
import type { ByteRange } from '../contract/byte-range.ts';
import { readAhead } from '../crypt4gh/body/read-ahead.ts';

/** Bytes of one read, and reads under way at once: a read waits for S3 longer than its bytes take. */
const readBytes = 1024 * 1024;
const readsAhead = 4;

/**
 * Ranges of an archived body one after the other, as they are stored. Reads ahead of the consumer, and stops reading when the
 * iteration ends early.
 *
 * @throws ArchiveDamagedError, TemporarilyUnavailableError
 */
export async function* bodyBytes(
  archive: Pick<Archive, 'read'>,
  { address, archiveEtag: etag }: Pick<ContainerSource, 'address' | 'archiveEtag'>,
  ranges: readonly ByteRange[],
): AsyncGenerator<Uint8Array, void, undefined> {
  yield* readAhead(reads(ranges), readsAhead, ({ start, end }) => archive.read(address, { start, end, etag }));
}

function* reads(ranges: readonly ByteRange[]): Generator<ByteRange> {
  for (const { start, end } of ranges) {
    for (let from = start; from < end; from += readBytes) yield { start: from, end: Math.min(from + readBytes, end) };
  }
}
