import { ArchiveDamagedError } from '../errors.ts';
import type { Archive, ArchivedFile, BodyAddress, ContainerSource } from './ports.ts';

/**
 * The file's body as the archive has it now. Later reads and copies give its ETag, so they cannot take another body.
 *
 * @param options.checksum ask for the CRC-64/NVME of the body, too. The caller needs the right to decrypt it
 * @throws ArchiveDamagedError when the body is missing or differs in size from the catalogue; ArchiveLocationUnknownError
 */
export async function bodySource(
  file: BodyAddress & Pick<ArchivedFile, 'archiveFileSize'>,
  archive: Pick<Archive, 'head'>,
  options?: { readonly checksum: boolean },
): Promise<ContainerSource> {
  const { archiveLocation, archiveFilePath } = file;
  const address = { archiveLocation, archiveFilePath };
  const { size, etag, crc64nvme } = await archive.head(address, options);
  if (size !== file.archiveFileSize) {
    throw new ArchiveDamagedError(`the catalogue says ${file.archiveFileSize} bytes of body, the archive has ${size}`);
  }
  return { address, archiveEtag: etag, bodySize: size, ...(crc64nvme && { crc64nvme }) };
}
