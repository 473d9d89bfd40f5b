import { bodySource } from '../export/body-source.ts';
import { outboxFileName } from '../export/outbox-name.ts';
import type { Archive, ArchivedFile } from '../export/ports.ts';
import type { DirectUrls, SignedUrl } from './ports.ts';

/** The body of a file as it lies in the archive: what follows every header that is made for it. */
export interface ArchivedBody {
  /** Bytes. */
  readonly size: number;
  /** Entity tag of the stored object, with its quotes. */
  readonly etag: string;
  readonly fileName: string;
  /** A URL of the object itself, which serves ranges. */
  readonly url: () => Promise<SignedUrl>;
}

/** @throws ArchiveDamagedError when the archive and the catalogue disagree about it; TemporarilyUnavailableError */
export async function archivedBodyOf(
  file: ArchivedFile,
  { archive, urls }: { readonly archive: Pick<Archive, 'head'>; readonly urls: Pick<DirectUrls, 'body'> },
): Promise<ArchivedBody> {
  const { archiveKey, archiveEtag: etag, bodySize: size } = await bodySource(file, archive);
  const fileName = outboxFileName(file.fileId, file.submissionFilePath).replace(/\.c4gh$/, '.body');
  return { size, etag, fileName, url: () => urls.body(archiveKey, fileName) };
}
