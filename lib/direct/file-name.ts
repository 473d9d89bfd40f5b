import { submittedName } from '../archive/container-name.ts';
import type { ArchivedFile } from '../archive/ports.ts';
import { safeFileName } from '../contract/file-name.ts';

type Named = Pick<ArchivedFile, 'fileId' | 'submissionFilePath'>;

/** The submitted name of a file, made safe so that every system can save its plaintext under it; the file id if it is empty. */
export function displayFileName({ fileId, submissionFilePath }: Named): string {
  return safeFileName(submittedName(submissionFilePath) || fileId);
}

/** Whether a caller may name the file so in a URL: as {@link displayFileName}, or as the last segment of the submitted path. */
export function isNameOf(file: Named, name: string): boolean {
  return name === displayFileName(file) || name === file.submissionFilePath.split(/[\\/]/).at(-1);
}
