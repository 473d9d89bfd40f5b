import { constants } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Recent } from '../../common/recent.ts';
import { fileSource, openContainer } from '../../crypt4gh/index.ts';
import { plaintextName } from '../api/download/disk/local-name.ts';
import { type Folder, isFolder, type Place, type ServedFile } from './place.ts';
import { PlainFile } from './plain-file.ts';

/** Milliseconds for which the names of a folder are shown again. */
const keptMs = 5_000;
const mostFolders = 1_000;
const mostOpen = 1_000;

/** The containers of a folder on this machine, under the names of their plaintexts. */
export class DiskFolder implements Place {
  readonly #root: string;
  readonly #privateKeys: readonly Uint8Array[];
  readonly #blocks: Recent<Uint8Array>;
  readonly #listings: Recent<Folder>;
  readonly #opened: Recent<PlainFile>;

  /** @param root absolute */
  constructor(root: string, privateKeys: readonly Uint8Array[], blocks: Recent<Uint8Array>, now: () => number) {
    this.#root = root;
    this.#privateKeys = privateKeys;
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
      for (const entry of await readdir(folder, { withFileTypes: true })) {
        const { name } = entry;
        if (name.startsWith('.')) continue;
        const plain = plaintextName(name);
        if (entry.isDirectory()) names.set(name, new Map());
        else if (entry.isFile() && plain !== name && !names.has(plain)) {
          names.set(plain, { facts: {}, open: () => this.#open(join(folder, name)) });
        }
      }
      return names;
    });
  }

  async #open(path: string): Promise<PlainFile> {
    const { dev, ino, size, mtime, mtimeNs } = await stat(path, { bigint: true });
    const etag = `"${[dev, ino, size, mtimeNs].map((part) => part.toString(36)).join('-')}"`;
    return await this.#opened.get(etag, async () => {
      const source = {
        size: Number(size),
        async read(offset: number, length: number) {
          // Windows has no such flag.
          await using file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
          return await (await fileSource(file)).read(offset, length);
        },
      };
      const reader = await openContainer(source, {
        privateKeys: this.#privateKeys,
        segmentsPerFetch: 64,
        ownsReads: true,
      });
      return new PlainFile(reader, { etag, lastModified: () => mtime.toUTCString() }, this.#blocks);
    });
  }
}
