/** A file that is read at any position. */
export interface OpenFile {
  readonly size: number;
  /** Strong entity tag (RFC 9110 § 8.8.3). */
  readonly etag: string;
  /** When the file was last changed, as HTTP writes it. */
  readonly lastModified: string;
  /** Bytes [start, end), in memory alone. @throws DamagedBodyError; errors of the file system */
  stream(start: number, end: number): AsyncGenerator<Uint8Array, void, undefined>;
}

/** A file that is shown. Nothing of it is read before it is opened. */
export interface ServedFile {
  /** @throws ClientError, Crypt4ghError, errors of the file system */
  open(): Promise<OpenFile>;
}

/** Files and folders by their names. */
export type Folder = ReadonlyMap<string, Folder | ServedFile>;

/** A tree of folders and files. */
export interface Place {
  /** What is at a path; `undefined`: nothing. @param path names, none of them `.` or `..` or with a slash */
  find(path: readonly string[]): Promise<Folder | ServedFile | undefined>;
}

export function isFolder(found: Folder | ServedFile): found is Folder {
  return found instanceof Map;
}
