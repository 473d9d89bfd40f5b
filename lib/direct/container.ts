import { createHash } from 'node:crypto';
import { bodySource } from '../archive/body-source.ts';
import { outboxFileName } from '../archive/container-name.ts';
import { headerFor } from '../archive/header.ts';
import type { Archive, ArchivedFile, ArchiveKeys, ContainerSource } from '../archive/ports.ts';
import type { ByteRange } from '../contract/byte-range.ts';
import { limits } from '../contract/limits.ts';
import { publicKeyFingerprint } from '../crypt4gh/index.ts';
import { bodyBytes } from './body-bytes.ts';
import type { Representation } from './representation.ts';

/** A Crypt4GH container: a header for the caller's key, and segments of the archived body as they are. */
export interface Container extends Representation {
  readonly file: ArchivedFile;
  /** Fingerprint of the key that opens it. */
  readonly keyFingerprint: string;
  /** The first bytes of the container. */
  readonly header: Uint8Array;
  /** The archived body. */
  readonly source: ContainerSource;
  /** What of the archived body follows the header: ascending, not empty, not touching. */
  readonly ranges: readonly ByteRange[];
  /** SHA-256 over what decides every byte, in lower-case hex. */
  readonly digest: string;
}

export interface ContainerDependencies {
  readonly archive: Archive;
  readonly archiveKeys: ArchiveKeys;
}

/**
 * The whole file as a container for `recipient`: a new header, the body unchanged. Every call gives the same bytes, so a
 * download that broke off can be taken up by another call.
 *
 * @param recipient raw public key
 * @throws ArchiveDamagedError, TemporarilyUnavailableError
 */
export async function containerOf(
  file: ArchivedFile,
  recipient: Uint8Array,
  { archive, archiveKeys }: ContainerDependencies,
): Promise<Container> {
  const source = await bodySource(file, archive);
  const header = headerFor(file, await archiveKeys.candidates(file.keyHash), recipient);
  const ranges = source.bodySize > 0 ? [{ start: 0, end: source.bodySize }] : [];
  const fileName = outboxFileName(file.fileId, file.submissionFilePath);
  return composed({ file, keyFingerprint: publicKeyFingerprint(recipient), header, source, ranges, fileName }, archive);
}

/**
 * Whether the container is to be made inside S3 and fetched from there, rather than streamed. One whose segments come from
 * several places of the body cannot be: it is streamed, as far as a streamed reply reaches.
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
    fileName: `${fileName.replace(/\.c4gh$/, '')}.header`,
    async *stream(start, end) {
      yield header.subarray(start, end);
    },
  };
}

type Composition = Pick<Container, 'file' | 'keyFingerprint' | 'header' | 'source' | 'ranges' | 'fileName'>;

/** The container `header || ranges of the body`, to be read from the archive. */
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
        // Whether the archive answers shows before the first byte goes out: a failure is still a status.
        const { value: first } = await body.next();
        yield Buffer.concat([header.subarray(start, end), first ?? new Uint8Array()]);
      }
      yield* body;
    },
  };
}

/** What stands at [start, end) of the ranges put together. */
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

/** File and key are in the header already, through its derivation; named here so that this does not rest on it. */
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

function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
