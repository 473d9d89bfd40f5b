import { bodySource } from '../archive/body-source.ts';
import { outboxFileName } from '../archive/container-name.ts';
import type { Archive, ArchivedFile, SignedUrl } from '../archive/ports.ts';
import { bodyBytes } from './body-bytes.ts';
import type { DirectUrls } from './ports.ts';
import type { Representation } from './representation.ts';

/** The body of a file as the archive stores it. It follows every header that is made for the file. */
export interface ArchivedBody extends Representation {
  /** A URL of the stored object itself, which serves ranges. */
  readonly url: () => Promise<SignedUrl>;
}

/**
 * The unchanged archived body. Its entity tag is that of the stored object, as S3 gives it too.
 *
 * @throws ArchiveDamagedError when the archive and the catalogue disagree about the body; TemporarilyUnavailableError
 */
export async function archivedBodyOf(
  file: ArchivedFile,
  { archive, urls }: { readonly archive: Archive; readonly urls: Pick<DirectUrls, 'body'> },
): Promise<ArchivedBody> {
  const source = await bodySource(file, archive);
  const fileName = outboxFileName(file.fileId, file.submissionFilePath).replace(/\.c4gh$/, '.body');
  return {
    size: source.bodySize,
    etag: source.archiveEtag,
    mediaType: 'application/octet-stream',
    fileName,
    stream: (start, end) => bodyBytes(archive, source, [{ start, end }]),
    url: () => urls.body(source.address, fileName),
  };
}
