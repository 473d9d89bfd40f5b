import { type ByteRange, type ContainerReader, Crypt4ghError, openContainer } from '../../crypt4gh/index.ts';
import { damaged, rangeNotSatisfiable } from '../../errors.ts';
import { bodySource } from '../archive/archived-file.ts';
import type { Archive, ArchivedFile, ContainerSource, OpenableArchive } from '../archive/ports.ts';
import { displayFileName, entityTag, plaintextMediaType, plaintextTag, type Representation } from './representation.ts';

/**
 * Reads that are under way or being decrypted: a read waits for S3 longer than its bytes take to decrypt. This also bounds the
 * memory.
 */
const fetchesInFlight = 2;
/** 1.25 MiB. With more in flight, the garbage collector takes more processor time than all the rest. */
const segmentsPerFetch = 20;
/** The first read is shorter, so that the reply begins sooner. */
const segmentsInFirstFetch = 1;

/**
 * The file decrypted, as the edit list of its stored header leaves it. Only the segments that hold wanted bytes are read.
 * Plaintext exists in memory only, some segments at a time.
 */
export async function plaintextOf(file: ArchivedFile, dependencies: OpenableArchive): Promise<Representation> {
  const { archive, archiveKeys } = dependencies;
  const [source, candidates] = await Promise.all([bodySource(file, archive), archiveKeys.candidates(file.keyHash)]);
  const reader = await asDamage(() =>
    openContainer(randomAccess(source, archive), {
      header: file.header,
      privateKeys: candidates.map(({ privateKey }) => privateKey),
      fetchesInFlight,
      segmentsPerFetch,
      segmentsInFirstFetch,
      ownsReads: true,
    }),
  );
  return {
    // The archive knows the size of its objects.
    size: reader.size ?? 0,
    etag: plaintextTag(file),
    mediaType: plaintextMediaType,
    fileName: displayFileName(file),
    stream: (start, end) => plaintextPieces(reader, start, end),
  };
}

/**
 * The bytes between the coordinates, as their own representation.
 *
 * @throws `range_not_satisfiable` when the whole ends before the first of them
 */
export function between({ start, end }: ByteRange, whole: Representation): Representation {
  if (start >= whole.size) throw rangeNotSatisfiable(whole.size);
  const size = Math.min(end, whole.size) - start;
  return {
    ...whole,
    size,
    etag: entityTag(['part', whole.etag, String(start), String(start + size)]),
    stream: (from, to) => whole.stream(start + from, start + to),
  };
}

/** Bytes [start, end) of an archived file. */
export async function* plaintextPieces(
  reader: ContainerReader,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array> {
  try {
    yield* reader.stream(start, end);
  } catch (error) {
    throw damageOf(error);
  }
}

function randomAccess({ address, archiveEtag: etag, bodySize: size }: ContainerSource, archive: Archive) {
  return {
    size,
    read: (offset: number, length: number) => archive.read(address, { start: offset, end: offset + length, etag }),
  };
}

export async function asDamage<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw damageOf(error);
  }
}

/** Header and body are the archive's, so an error of their format is damage of the archive. */
function damageOf(error: unknown): unknown {
  return error instanceof Crypt4ghError ? damaged(error.message, { cause: error }) : error;
}
