import { ArchiveDamagedError } from '../errors.ts';
import type { Archive, ArchivedFile, BodyAddress, ContainerSource } from './ports.ts';

/**
 * The file's body as the archive has it now. Later reads and copies give its ETag, so they cannot take another body.
 *
 * @throws ArchiveDamagedError when the body is missing or differs in size from the catalogue; ArchiveLocationUnknownError
 */
export async function bodySource(
  file: BodyAddress & Pick<ArchivedFile, 'archiveFileSize'>,
  archive: Pick<Archive, 'head'>,
): Promise<ContainerSource> {
  const { archiveLocation, archiveFilePath } = file;
  const address = { archiveLocation, archiveFilePath };
  const { size, etag } = await archive.head(address);
  if (size !== file.archiveFileSize) {
    throw new ArchiveDamagedError(`the catalogue says ${file.archiveFileSize} bytes of body, the archive has ${size}`);
  }
  return { address, archiveEtag: etag, bodySize: size };
}
