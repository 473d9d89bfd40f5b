import type { ArchivedFile } from '../archive/ports.ts';
import { safeFileName } from '../contract/file-name.ts';

/**
 * The name of a file's plaintext: the last segment of the submitter's path without `.c4gh`, as a name under which every
 * system can save it.
 */
export function displayFileName({
  fileId,
  submissionFilePath,
}: Pick<ArchivedFile, 'fileId' | 'submissionFilePath'>): string {
  const segment = submissionFilePath.slice(
    Math.max(submissionFilePath.lastIndexOf('/'), submissionFilePath.lastIndexOf('\\')) + 1,
  );
  return safeFileName(segment.replace(/\.c4gh$/i, '') || fileId);
}
