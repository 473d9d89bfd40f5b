import type { ArchivedFile } from '../export/ports.ts';

/**
 * What the plaintext of a file is called: what follows the last separator of the submitter's path, without the ending that
 * tells of the encryption. Untrusted text; never empty.
 */
export function plaintextName({
  fileId,
  submissionFilePath,
}: Pick<ArchivedFile, 'fileId' | 'submissionFilePath'>): string {
  const segment = submissionFilePath.slice(
    Math.max(submissionFilePath.lastIndexOf('/'), submissionFilePath.lastIndexOf('\\')) + 1,
  );
  return segment.replace(/\.c4gh$/i, '') || fileId;
}
