import { submittedName } from '../archive/container-name.ts';
import type { ArchivedFile } from '../archive/ports.ts';
import { safeFileName } from '../contract/file-name.ts';

/** The submitted name of a file, made safe so that every system can save its plaintext under it; the file id if it is empty. */
export function displayFileName({
  fileId,
  submissionFilePath,
}: Pick<ArchivedFile, 'fileId' | 'submissionFilePath'>): string {
  return safeFileName(submittedName(submissionFilePath) || fileId);
}
