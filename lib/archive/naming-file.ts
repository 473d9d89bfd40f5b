import { ArchiveDamagedError } from '../errors.ts';

/** Runs `task`. Damage that it meets in the archive gets the file's name: bodies and headers know nothing of files. */
export async function namingFile<T>(fileId: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw error instanceof ArchiveDamagedError ? error.ofFile(fileId) : error;
  }
}
