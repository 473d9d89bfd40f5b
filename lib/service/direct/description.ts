import type { FileDescription } from '../../contract/messages.ts';
import { storedEditList } from '../archive/archived-file.ts';
import type { FileReference, OpenableArchive } from '../archive/ports.ts';
import { accessRefused } from './access.ts';
import { plaintextOf } from './plaintext.ts';
import type { DirectCatalogue } from './ports.ts';

export interface DescriptionDependencies extends OpenableArchive {
  readonly catalogue: Pick<DirectCatalogue, 'findReleasedFile' | 'factsOf'>;
}

/**
 * Describe a file's plaintext. Opens its header and reads no body. Decides nothing about grants; the query that reads the header
 * checks the release.
 *
 * @throws ForbiddenError when the dataset is not released or does not hold the file; ArchiveDamagedError,
 * TemporarilyUnavailableError
 */
export async function describeFile(
  reference: FileReference,
  { catalogue, archive, archiveKeys }: DescriptionDependencies,
): Promise<FileDescription> {
  const file = await catalogue.findReleasedFile(reference);
  if (!file) throw accessRefused();
  const [facts, { fileName, mediaType, size, etag }, candidates] = await Promise.all([
    catalogue.factsOf(file.fileId),
    plaintextOf(file, { archive, archiveKeys }),
    archiveKeys.candidates(file.keyHash),
  ]);
  const edited = storedEditList(file, candidates) !== undefined;
  const created = facts?.createdAt ?? (await archive.head(file)).lastModified;
  const whole = facts && !edited && (facts.decryptedFileSize ?? size) === size;
  return {
    fileName,
    mediaType,
    size,
    etag,
    createdAt: created.toISOString(),
    checksums: whole ? [...facts.plaintextChecksums] : [],
  };
}
