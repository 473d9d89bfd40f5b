import { ArchiveDamagedError } from '../errors.ts';
import type { Archive, ArchivedFile, ContainerSource } from './ports.ts';

/**
 * The file's body as the archive has it now: its ETag makes sure that everything read or copied later is of this one.
 *
 * @throws ArchiveDamagedError when it is not there, or not of the size that the catalogue says
 */
export async function bodySource(
  file: Pick<ArchivedFile, 'archiveFilePath' | 'archiveFileSize'>,
  archive: Pick<Archive, 'head'>,
): Promise<ContainerSource> {
  const { size, etag } = await archive.head(file.archiveFilePath);
  if (size !== file.archiveFileSize) {
    throw new ArchiveDamagedError(`the catalogue says ${file.archiveFileSize} bytes of body, the archive has ${size}`);
  }
  return { archiveKey: file.archiveFilePath, archiveEtag: etag, bodySize: size };
}
