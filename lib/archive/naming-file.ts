import { ArchiveDamagedError } from '../errors.ts';

/** Runs `task`. An ArchiveDamagedError of it then names the file: code that reads bodies and headers knows none. */
export async function namingFile<T>(fileId: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw error instanceof ArchiveDamagedError ? error.ofFile(fileId) : error;
  }
}
