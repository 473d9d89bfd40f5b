import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileSource, openContainer } from '../../crypt4gh/index.ts';
import { plaintextName } from '../api/download/disk/local-name.ts';
import { ClientError } from '../api/errors.ts';

/** A file that is read at any position. */
export interface OpenFile {
  readonly size: number;
  /** Strong entity tag (RFC 9110 § 8.8.3). */
  readonly etag: string;
  /** When the file was last changed, as HTTP writes it. */
  readonly lastModified: string;
  /** Bytes [start, end), in memory alone. @throws ClientError, Crypt4ghError, errors of the file system */
  stream(start: number, end: number): AsyncGenerator<Uint8Array, void, undefined>;
}

/** Files by their names, and folders as `undefined`. Nothing of a file is read before it is opened. */
export type Names = ReadonlyMap<string, (() => Promise<OpenFile>) | undefined>;

/** Reads a folder by the names in its path; `undefined`: there is none. */
export type Find = (path: readonly string[]) => Promise<Names | undefined>;

/** Windows has no such flag. */
const readingNoLink = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);

/**
 * The containers below a folder on this machine, under the names of their plaintexts. Links are not followed: they can lead out
 * of the folder, or in a circle.
 * @param root absolute
 * @param options.plain whether files that are not containers are shown as they are
 */
export function folderBelow(
  root: string,
  { privateKeys, plain }: { readonly privateKeys: readonly Uint8Array[]; readonly plain: boolean },
): Find {
  const namesOf = async (folder: string): Promise<Names> => {
    const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'));
    const names = new Map<string, (() => Promise<OpenFile>) | undefined>();
    for (const entry of entries) if (entry.isDirectory()) names.set(entry.name, undefined);
    const files = entries.filter((entry) => entry.isFile()).map(({ name }) => [plaintextName(name), name] as const);
    const show = (shown: string, file: string, keys?: readonly Uint8Array[]) => {
      if (!names.has(shown)) names.set(shown, () => openFile(join(folder, file), keys));
    };
    for (const [shown, file] of files) if (shown !== file) show(shown, file, privateKeys);
    // A container comes before a plain file of the same name: it is authenticated.
    if (plain) for (const [shown, file] of files) if (shown === file) show(shown, file);
    return names;
  };
  return async (path) => {
    let folder = root;
    // Names of requests become no paths: each is compared with those that the folder has.
    for (const name of path) {
      const names = await namesOf(folder);
      if (!names.has(name) || names.get(name) !== undefined) return undefined;
      folder = join(folder, name);
    }
    return await namesOf(folder);
  };
}

/** @param privateKeys without them the file is shown as it is */
async function openFile(path: string, privateKeys?: readonly Uint8Array[]): Promise<OpenFile> {
  const facts = factsOf(await stat(path, { bigint: true }));
  const reading = async () => {
    const file = await open(path, readingNoLink);
    if (factsOf(await file.stat({ bigint: true })).etag === facts.etag) return file;
    await file.close();
    throw new ClientError('unavailable', 'the file was replaced: ask for it again');
  };
  if (privateKeys === undefined) {
    const stream = async function* (start: number, end: number) {
      await using file = await reading();
      if (start < end) yield* file.createReadStream({ start, end: end - 1, autoClose: false });
    };
    return { ...facts, stream };
  }
  // A tool that gives up after a block or two costs two segments.
  const segments = { segmentsInFirstFetch: 2, segmentsPerFetch: 64, fetchesInFlight: 2, ownsReads: true };
  const opened = async (file: FileHandle) => await openContainer(await fileSource(file), { privateKeys, ...segments });
  await using first = await reading();
  return {
    ...facts,
    size: (await opened(first)).size ?? 0,
    async *stream(start, end) {
      await using file = await reading();
      yield* (await opened(file)).stream(start, end);
    },
  };
}

function factsOf({ dev, ino, size, mtime, mtimeNs }: BigIntStats): Pick<OpenFile, 'size' | 'etag' | 'lastModified'> {
  const etag = `"${[dev, ino, size, mtimeNs].map((part) => part.toString(36)).join('-')}"`;
  return { size: Number(size), etag, lastModified: mtime.toUTCString() };
}
