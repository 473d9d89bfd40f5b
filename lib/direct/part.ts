import { bodySource } from '../archive/body-source.ts';
import { outboxFileName, submittedName } from '../archive/container-name.ts';
import { headerFor, storedEditList } from '../archive/header.ts';
import type { ArchivedFile } from '../archive/ports.ts';
import type { ByteRange } from '../contract/byte-range.ts';
import {
  DamagedBodyError,
  decryptedSize,
  editedSize,
  planRearrangement,
  publicKeyFingerprint,
} from '../crypt4gh/index.ts';
import { ArchiveDamagedError, RangeNotSatisfiableError } from '../errors.ts';
import { type Container, type ContainerDependencies, composed } from './container.ts';

/** Bytes of a file's plaintext, after the edit list of its stored header. `end` may lie beyond the file. */
export type Coordinates = ByteRange;

/**
 * The bytes between the coordinates as a container for `recipient`: the segments they lie in, unchanged, and an edit list
 * that cuts off the rest (Crypt4GH § 4.2). Every reader gets exactly these plaintext bytes, and every call gives the
 * same container.
 *
 * @param recipient raw public key
 * @throws RangeNotSatisfiableError when the plaintext ends before the first of them; ArchiveDamagedError,
 * TemporarilyUnavailableError
 */
export async function partOf(
  file: ArchivedFile,
  recipient: Uint8Array,
  { start, end }: Coordinates,
  { archive, archiveKeys }: ContainerDependencies,
): Promise<Container> {
  const source = await bodySource(file, archive);
  const { bodySize } = source;
  const candidates = await archiveKeys.candidates(file.keyHash);
  const stored = storedEditList(file, candidates);
  const size = editedSize(plainSizeOf(bodySize), stored ?? []);
  if (start >= size) throw new RangeNotSatisfiableError(size);

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

function plainSizeOf(bodySize: number): number {
  try {
    return decryptedSize(bodySize);
  } catch (error) {
    if (!(error instanceof DamagedBodyError)) throw error;
    throw new ArchiveDamagedError(`no Crypt4GH body has ${bodySize} bytes`);
  }
}
