import { type BigIntStats, constants } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Recent } from '../../common/recent.ts';
import { fileSource, openContainer } from '../../crypt4gh/index.ts';
import { plaintextName } from '../api/download/disk/local-name.ts';
import { ClientError } from '../api/errors.ts';
import { type Folder, isFolder, type OpenFile, type Place, type ServedFile } from './place.ts';
import { PlainFile } from './plain-file.ts';

/** Milliseconds for which the names of a folder are shown again. */
const keptMs = 5_000;
const mostFolders = 1_000;
const mostOpen = 1_000;

/** Windows has no such flag. */
const readingNoLink = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);

/** What a folder shows. */
export interface DiskFolderOptions {
  readonly privateKeys: readonly Uint8Array[];
  /** Whether files that are not containers are shown as they are. */
  readonly plain: boolean;
  readonly blocks: Recent<Uint8Array>;
  readonly now: () => number;
}

/** The containers of a folder on this machine, under the names of their plaintexts. */
export class DiskFolder implements Place {
  readonly #root: string;
  readonly #privateKeys: readonly Uint8Array[];
  readonly #showsPlain: boolean;
  readonly #blocks: Recent<Uint8Array>;
  readonly #listings: Recent<Folder>;
  readonly #opened: Recent<PlainFile>;

  /** @param root absolute */
  constructor(root: string, { privateKeys, plain, blocks, now }: DiskFolderOptions) {
    this.#root = root;
    this.#privateKeys = privateKeys;
    this.#showsPlain = plain;
    this.#blocks = blocks;
    this.#listings = new Recent({ most: mostFolders, milliseconds: keptMs, now });
    this.#opened = new Recent({ most: mostOpen });
  }

  /** Names of requests become no paths: each is compared with those that the folder has. @throws errors of the file system */
  async find(path: readonly string[]): Promise<Folder | ServedFile | undefined> {
    let folder = this.#root;
    for (const [index, name] of path.entries()) {
      const found = (await this.#names(folder)).get(name);
      if (found === undefined || !isFolder(found)) return index === path.length - 1 ? found : undefined;
      folder = join(folder, name);
    }
    return await this.#names(folder);
  }

  /** Links are not followed: they can lead out of the folder, or in a circle. */
  #names(folder: string): Promise<Folder> {
    return this.#listings.get(folder, async () => {
      const names = new Map<string, Folder | ServedFile>();
      const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'));
      const show = (name: string, file: string, openFile: (path: string) => Promise<OpenFile>) => {
        if (!names.has(name)) names.set(name, { open: () => openFile(join(folder, file)) });
      };
      for (const entry of entries) if (entry.isDirectory()) names.set(entry.name, new Map());
      const files = entries.filter((entry) => entry.isFile()).map(({ name }) => ({ name, plain: plaintextName(name) }));
      for (const { name, plain } of files) if (plain !== name) show(plain, name, (path) => this.#open(path));
      // A container comes before a plain file of the same name: it is authenticated.
      if (this.#showsPlain) for (const { name, plain } of files) if (plain === name) show(name, name, openAsIs);
      return names;
    });
  }

  async #open(path: string): Promise<PlainFile> {
    const { size, etag, lastModified } = factsOf(await stat(path, { bigint: true }));
    return await this.#opened.get(etag, async () => {
      const source = {
        size,
        async read(offset: number, length: number) {
          await using file = await open(path, readingNoLink);
          return await (await fileSource(file)).read(offset, length);
        },
      };
      const reader = await openContainer(source, {
        privateKeys: this.#privateKeys,
        segmentsPerFetch: 64,
        ownsReads: true,
      });
      return new PlainFile(reader, { etag, lastModified }, this.#blocks);
    });
  }
}

/** A file without decryption. */
async function openAsIs(path: string): Promise<OpenFile> {
  const facts = factsOf(await stat(path, { bigint: true }));
  return {
    ...facts,
    async *stream(start, end) {
      await using file = await open(path, readingNoLink);
      const isSame = factsOf(await file.stat({ bigint: true })).etag === facts.etag;
      if (!isSame) throw new ClientError('unavailable', 'the file was replaced: ask for it again');
      if (start < end) yield* file.createReadStream({ start, end: end - 1, autoClose: false });
    },
  };
}

function factsOf({ dev, ino, size, mtime, mtimeNs }: BigIntStats): Pick<OpenFile, 'size' | 'etag' | 'lastModified'> {
  const etag = `"${[dev, ino, size, mtimeNs].map((part) => part.toString(36)).join('-')}"`;
  return { size: Number(size), etag, lastModified: mtime.toUTCString() };
}
