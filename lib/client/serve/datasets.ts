import { createHash } from 'node:crypto';
import { Recent } from '../../common/recent.ts';
import { type KeyPair, openContainer, type RandomAccessSource } from '../../crypt4gh/index.ts';
import type { DataOutApi, DatasetFile } from '../api/data-out.ts';
import { originalPath } from '../api/download/disk/local-name.ts';
import { directHalves } from '../api/download/remote/direct-file.ts';
import { ChangedError, type ObjectVersion, type RemoteFile } from '../api/download/remote/remote-file.ts';
import { giveBack } from '../api/read-memory.ts';
import type { Transport } from '../api/transport.ts';
import { type Folder, isFolder, type Place, type ServedFile } from './place.ts';
import { PlainFile } from './plain-file.ts';

/** Milliseconds for which a listing is shown again, and an opened file is read on. After that the service decides again. */
const keptMs = 5 * 60_000;
/** Files that are open at a time. Each takes some kilobytes. */
const mostOpen = 1_000;
const mostListings = 20;
/** Segments of one request to storage: 4 MiB. */
const segmentsPerFetch = 64;

/** The datasets that the caller may read, a folder each, with paths as submitted. */
export class Datasets implements Place {
  readonly #api: DataOutApi;
  readonly #keys: KeyPair;
  readonly #blocks: Recent<Uint8Array>;
  readonly #listings: Recent<Folder>;
  readonly #opened: Recent<PlainFile>;

  /** @param keys of this run: the service writes the headers for the public one */
  constructor(api: DataOutApi, keys: KeyPair, blocks: Recent<Uint8Array>, now: () => number) {
    this.#api = api;
    this.#keys = keys;
    this.#blocks = blocks;
    this.#listings = new Recent({ most: mostListings, milliseconds: keptMs, now });
    this.#opened = new Recent({ most: mostOpen, milliseconds: keptMs, now });
  }

  /** @throws ClientError */
  async find([datasetId, ...path]: readonly string[]): Promise<Folder | ServedFile | undefined> {
    const nothing: Folder = new Map();
    const ids = await this.#listings.get(
      '',
      async () => new Map((await this.#api.datasets()).map((id) => [id, nothing])),
    );
    if (datasetId === undefined) return ids;
    // Only ids that the service has named go into an address of it.
    if (!ids.has(datasetId)) return undefined;
    let found: Folder | ServedFile | undefined = await this.#listings.get(datasetId, async () => {
      const listed = await this.#api.files(datasetId);
      return treeOf(listed, (file) => this.#open(file));
    });
    for (const name of path) found = found && isFolder(found) ? found.get(name) : undefined;
    return found;
  }

  #open({ fileId, displayName: name }: DatasetFile): Promise<PlainFile> {
    return this.#opened.get(fileId, async () => {
      const publicKey = Buffer.from(this.#keys.publicKey).toString('base64');
      const { header, body } = await directHalves(this.#api, { fileId, name, publicKey });
      const source = sourceOf(body, this.#api.connection.transport, () => this.#opened.delete(fileId));
      const privateKeys = [this.#keys.privateKey];
      const reader = await openContainer(source, { header, privateKeys, segmentsPerFetch, ownsReads: true });
      const etag = `"${createHash('sha256').update(`${body.size} `).update(header).digest('hex').slice(0, 32)}"`;
      return new PlainFile(reader, { etag, lastModified: source.lastModified }, this.#blocks);
    });
  }
}

/** A remote file by positions, every byte of one version. @param changed called when storage has another one */
function sourceOf(
  remote: RemoteFile,
  transport: Transport,
  changed: () => void,
): RandomAccessSource & Pick<PlainFile, 'lastModified'> {
  let known: ObjectVersion | undefined;
  const { size } = remote;
  return {
    size,
    lastModified: () => known?.lastModified,
    async read(offset, length) {
      const end = Math.min(offset + length, size);
      const range = offset === 0 && end === size ? undefined : { start: offset, end };
      const backoff = transport.backoff(undefined);
      for (;;) {
        try {
          const reply = await remote.get({ range, known, signal: undefined });
          known ??= reply.version;
          const bytes = Buffer.allocUnsafeSlow(end - offset);
          let filled = 0;
          for await (const chunk of reply.bytes) {
            bytes.set(chunk, filled);
            filled += chunk.length;
            giveBack([chunk]);
          }
          return bytes;
        } catch (error) {
          if (error instanceof ChangedError) changed();
          await backoff.failed(error);
        }
      }
    },
  };
}

/** Files under the paths that their submitters gave them. */
function treeOf(files: readonly DatasetFile[], open: (file: DatasetFile) => Promise<PlainFile>): Folder {
  const root = new Map<string, Folder | ServedFile>();
  for (const file of files) {
    const { fileId, size, checksum } = file;
    const [name = fileId, ...folders] = originalPath(file.path, 'plaintext')?.toReversed() ?? [];
    let folder = root;
    let clash = false;
    for (const each of folders.toReversed()) {
      const found = folder.get(each) ?? new Map<string, Folder | ServedFile>();
      clash ||= !isFolder(found);
      if (clash) break;
      folder.set(each, found as Folder);
      folder = found as Map<string, Folder | ServedFile>;
    }
    const facts = { fileId, size, ...(checksum && { checksum: checksum.value, checksumType: checksum.type }) };
    // Two files of one path are both shown.
    const shown = clash || folder.has(name) ? `${fileId}-${name}` : name;
    folder.set(shown, { facts, open: () => open(file) });
  }
  return root;
}
