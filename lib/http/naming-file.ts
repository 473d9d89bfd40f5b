import { ArchiveDamagedError } from '../errors.ts';

/** What `task` gives; damage that it meets is told with the file's name. Bodies and headers know nothing of files, the operator looks for one. */
export async function namingFile<T>(fileId: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (!(error instanceof ArchiveDamagedError)) throw error;
    throw new ArchiveDamagedError(`file ${fileId}: ${error.message}`, { cause: error.cause });
  }
}
