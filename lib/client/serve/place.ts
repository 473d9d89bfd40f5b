import type { PlainFile } from './plain-file.ts';

/** A file that is shown. Nothing of it is read before it is opened. */
export interface ServedFile {
  /** Facts for the index in JSON: `fileId`, `size`, `sha256`. */
  readonly facts: Readonly<Record<string, string | number | undefined>>;
  /** @throws ClientError, Crypt4ghError, errors of the file system */
  open(): Promise<PlainFile>;
}

/** Files and folders by their names. */
export type Folder = ReadonlyMap<string, Folder | ServedFile>;

/** A tree of folders and files, from a service or a disk. */
export interface Place {
  /** What is at a path; `undefined`: nothing. @param path names, none of them `.` or `..` or with a slash */
  find(path: readonly string[]): Promise<Folder | ServedFile | undefined>;
}

export function isFolder(found: Folder | ServedFile): found is Folder {
  return found instanceof Map;
}
