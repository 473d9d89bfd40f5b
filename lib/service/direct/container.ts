import { limits } from '../../contract/limits.ts';
import { readAhead } from '../../crypt4gh/body/read-ahead.ts';
import { type ByteRange, editedSize, planRearrangement, publicKeyFingerprint } from '../../crypt4gh/index.ts';
import { rangeNotSatisfiable } from '../../errors.ts';
import { bodySource, headerFor, plainSizeOf, storedEditList } from '../archive/archived-file.ts';
import type { Archive, ArchivedFile, ContainerSource, OpenableArchive } from '../archive/ports.ts';
import { outboxFileName, submittedName } from '../containers/container-name.ts';
import { type Representation, sha256 } from './representation.ts';

/** A Crypt4GH container: a header for the caller's key, and segments of the archived body as they are. */
export interface Container extends Representation {
  readonly file: ArchivedFile;
  /** Fingerprint of the key that opens it. */
  readonly keyFingerprint: string;
  readonly header: Uint8Array;
  readonly source: ContainerSource;
  /** The ranges of the archived body behind the header: ascending, not empty, not touching. */
  readonly ranges: readonly ByteRange[];
  /** SHA-256 over everything that decides the bytes, in lower-case hex. */
  readonly digest: string;
}

/**
 * The whole file as a container for `recipient`: a new header, the body unchanged. Every call gives the same bytes, so another
 * call can resume a download that broke off.
 *
 * @param recipient raw public key
 */
export async function containerOf(
  file: ArchivedFile,
  recipient: Uint8Array,
  { archive, archiveKeys }: OpenableArchive,
): Promise<Container> {
  const source = await bodySource(file, archive);
  const header = headerFor(file, await archiveKeys.candidates(file.keyHash), recipient);
  const ranges = source.bodySize > 0 ? [{ start: 0, end: source.bodySize }] : [];
  const fileName = outboxFileName(file.fileId, file.submissionFilePath);
  return composed({ file, keyFingerprint: publicKeyFingerprint(recipient), header, source, ranges, fileName }, archive);
}

/**
 * Whether the container is made inside S3 and fetched from there, rather than streamed. A container with segments from several
 * places of the body is always streamed, as far as a streamed reply reaches.
 */
export function isForAssembly({ size, ranges }: Container): boolean {
  return size > limits.streamedContainerBytes && ranges.length === 1;
}

/** The header of the container alone, for clients that keep header and body apart. */
export function headerAlone({ header, fileName }: Container): Representation {
  return {
    size: header.length,
    etag: `"${sha256(header)}"`,
    mediaType: 'application/octet-stream',
    fileName: fileName.replace(/\.c4gh$/, '.header'),
    async *stream(start, end) {
      yield header.subarray(start, end);
    },
  };
}

type Composition = Pick<Container, 'file' | 'keyFingerprint' | 'header' | 'source' | 'ranges' | 'fileName'>;

/** The container `header || ranges of the body`, read from the archive when it is served. */
export function composed(composition: Composition, archive: Archive): Container {
  const { header, source, ranges } = composition;
  const digest = digestOf(composition);
  return {
    ...composition,
    digest,
    size: ranges.reduce((size, { start, end }) => size + end - start, header.length),
    etag: `"${digest}"`,
    mediaType: 'application/octet-stream',
    async *stream(start, end) {
      const body = bodyBytes(archive, source, [...cut(ranges, start - header.length, end - header.length)]);
      if (start < header.length) {
        // Read before the first byte goes out, so that a failing archive still becomes a status.
        const { value: first } = await body.next();
        yield Buffer.concat([header.subarray(start, end), first ?? new Uint8Array()]);
      }
      yield* body;
    },
  };
}

function* cut(ranges: readonly ByteRange[], start: number, end: number): Generator<ByteRange> {
  let position = 0;
  for (const range of ranges) {
    const shift = range.start - position;
    const from = Math.max(start, position);
    position += range.end - range.start;
    const to = Math.min(end, position);
    if (from < to) yield { start: from + shift, end: to + shift };
  }
}

/** The header already depends on file and key. Both are also here, so that the digest does not rely on that. */
function digestOf({ file, keyFingerprint, header, source, ranges }: Composition): string {
  const parts = [
    'container',
    file.fileId,
    keyFingerprint,
    sha256(header),
    source.address.archiveFilePath,
    source.archiveEtag,
    ...ranges.map(({ start, end }) => `${start}-${end}`),
  ];
  return sha256(JSON.stringify(parts));
}

/** Bytes of one read, and reads under way at once: a read waits for S3 longer than its bytes take. */
const readBytes = 1024 * 1024;
const readsAhead = 4;

/**
 * Ranges of an archived body one after the other, as they are stored. Reads ahead of the consumer, and stops reading when the
 * iteration ends early.
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

/**
 * The bytes between the coordinates, which may end beyond the file, as a container for `recipient`: the segments they lie in, unchanged, and an edit list
 * that cuts off the rest (Crypt4GH § 4.2). Every reader gets exactly these plaintext bytes, and every call gives the
 * same container.
 *
 * @param recipient raw public key
 * @throws `range_not_satisfiable` when the plaintext ends before the first of them
 */
export async function containerPart(
  file: ArchivedFile,
  recipient: Uint8Array,
  { start, end }: ByteRange,
  { archive, archiveKeys }: OpenableArchive,
): Promise<Container> {
  const source = await bodySource(file, archive);
  const { bodySize } = source;
  const candidates = await archiveKeys.candidates(file.keyHash);
  const stored = storedEditList(file, candidates);
  const size = editedSize(plainSizeOf(bodySize), stored ?? []);
  if (start >= size) throw rangeNotSatisfiable(size);

  const { bodyRanges, editList } = planRearrangement({ ranges: [{ start, end }], editList: stored, bodySize });
  return composed(
    {
      file,
      keyFingerprint: publicKeyFingerprint(recipient),
      header: headerFor(file, candidates, recipient, editList ?? null),
      source,
      ranges: bodyRanges.map((range) => ({ start: range.start, end: range.end ?? bodySize })),
      fileName: partName(file, start, Math.min(end, size)),
    },
    archive,
  );
}

/** Differs from the name of the whole container, so that a saved part does not replace it. */
function partName({ fileId, submissionFilePath }: ArchivedFile, start: number, end: number): string {
  return outboxFileName(fileId, `${submittedName(submissionFilePath)}.${start}-${end}`);
}
