import type { ArchivedFile } from '../archive/ports.ts';
import { safeFileName } from '../contract/file-name.ts';

/**
 * What the plaintext of a file is called: what follows the last separator of the submitter's path, without the ending that
 * tells of the encryption, as a name under which every system can save it.
 */
export function plaintextName({
  fileId,
  submissionFilePath,
}: Pick<ArchivedFile, 'fileId' | 'submissionFilePath'>): string {
  const segment = submissionFilePath.slice(
    Math.max(submissionFilePath.lastIndexOf('/'), submissionFilePath.lastIndexOf('\\')) + 1,
  );
  return safeFileName(segment.replace(/\.c4gh$/i, '') || fileId);
}
