import { ArchiveDamagedError } from '../errors.ts';

/** What `task` gives; damage that it meets is told with the file's name. */
export async function namingFile<T>(fileId: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw error instanceof ArchiveDamagedError ? error.ofFile(fileId) : error;
  }
}
