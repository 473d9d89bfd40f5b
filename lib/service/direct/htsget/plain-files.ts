import { decrypt, openContainer } from '../../../crypt4gh/index.ts';
import { ArchiveDamagedError } from '../../../errors.ts';
import {
  type DataFormat,
  type FileHead,
  type PlainSource,
  type RegionIndex,
  readHead,
  readIndex,
} from '../../../regions/index.ts';
import { bodySource, nameDamagedFile } from '../../archive/archived-file.ts';
import type { ArchivedFile, ArchiveKeys, ContainerSource } from '../../archive/ports.ts';
import { asDamage, damageOf } from '../plaintext.ts';
import type { DirectArchive } from '../ports.ts';
import { sha256 } from '../representation.ts';
import { asCallersError } from './model.ts';
import { Recent } from './recent.ts';

/** Bytes of the first read of a body: four segments, in which most headers end. */
const firstRead = 4 * (65_536 + 28);
/** Segments of one read: 1 MiB. */
const segmentsPerFetch = 16;
/** Bytes of memory for headers, and for indexes, of files that were asked for lately. */
const keptHeadBytes = 16 * 2 ** 20;
const keptIndexBytes = 64 * 2 ** 20;
/** Rough memory of one reference sequence. */
const referenceBytes = 100;

/** A data file of the archive at this moment, with random access to its plaintext. */
export interface OpenedFile {
  readonly file: ArchivedFile;
  /** The archived body. */
  readonly body: ContainerSource;
  readonly plain: PlainSource;
  /** Which version of header and body this is: 32 hex characters. */
  readonly version: string;
}

export interface PlainFilesDependencies {
  readonly archive: DirectArchive;
  readonly archiveKeys: ArchiveKeys;
}

interface Kept<Value> {
  readonly etag: string;
  readonly value: Value;
}

/**
 * Archived files as plaintext: their headers, their indexes, any of their bytes. Headers and indexes stay in memory for as long
 * as the archive has the same object. Plaintext exists in memory only.
 */
export class PlainFiles {
  readonly #archive: DirectArchive;
  readonly #archiveKeys: ArchiveKeys;
  readonly #heads = new Recent<Kept<FileHead>>(keptHeadBytes);
  readonly #indexes = new Recent<Kept<RegionIndex>>(keptIndexBytes);

  constructor({ archive, archiveKeys }: PlainFilesDependencies) {
    this.#archive = archive;
    this.#archiveKeys = archiveKeys;
  }

  /** @throws ArchiveDamagedError, TemporarilyUnavailableError */
  async open(file: ArchivedFile): Promise<OpenedFile> {
    return nameDamagedFile(file.fileId, async () => this.#opened(file, await bodySource(file, this.#archive)));
  }

  /**
   * The file with its header. Two calls of S3 where the header is not in memory, else one.
   *
   * @throws UnsupportedFormatError for a file that is not of this format; as {@link open}
   */
  async withHead(file: ArchivedFile, format: DataFormat): Promise<OpenedFile & { readonly head: FileHead }> {
    return nameDamagedFile(file.fileId, async () => {
      const key = keyOf(file);
      const kept = this.#heads.get(key);
      const now = kept && (await bodySource(file, this.#archive));
      if (kept && kept.etag === now?.archiveEtag) return { ...(await this.#opened(file, now)), head: kept.value };
      const { body, start } = await this.#begun(file);
      const opened = await this.#opened(file, body, start);
      const head = await asCallersError(() => readHead(opened.plain, format));
      const bytes = head.bytes.length + head.references.length * referenceBytes;
      this.#heads.set(key, { etag: body.archiveEtag, value: head }, bytes);
      return { ...opened, head };
    });
  }

  /**
   * The index. One call of S3 at any size.
   *
   * @throws UnsupportedFormatError for an index that breaks the rules of its format; as {@link open}
   */
  async index(file: ArchivedFile): Promise<RegionIndex> {
    return nameDamagedFile(file.fileId, async () => {
      const key = keyOf(file);
      const kept = this.#indexes.get(key);
      if (kept && kept.etag === (await bodySource(file, this.#archive)).archiveEtag) return kept.value;
      const [begun, privateKeys] = await Promise.all([this.#archive.begin(file), this.#privateKeys(file)]);
      expectSize(file, begun.size);
      const plain = decrypt(joined(file.header, begun.bytes), { privateKeys });
      const index = await asDamage(() => asCallersError(() => readIndex(plain)));
      this.#indexes.set(key, { etag: begun.etag, value: index }, index.memoryBytes);
      return index;
    });
  }

  async #begun(file: ArchivedFile): Promise<{ readonly body: ContainerSource; readonly start: Uint8Array }> {
    const { size, etag, bytes } = await this.#archive.begin(file, firstRead);
    expectSize(file, size);
    const pieces: Uint8Array[] = [];
    for await (const piece of bytes) pieces.push(piece);
    const { archiveLocation, archiveFilePath } = file;
    const body = { address: { archiveLocation, archiveFilePath }, archiveEtag: etag, bodySize: size };
    return { body, start: Buffer.concat(pieces) };
  }

  /** @param start the first bytes of the body, if they were read already */
  async #opened(file: ArchivedFile, body: ContainerSource, start: Uint8Array = new Uint8Array()): Promise<OpenedFile> {
    const { address, archiveEtag: etag, bodySize: size } = body;
    const source = {
      size,
      read: async (offset: number, length: number) => {
        const end = Math.min(offset + length, size);
        return end <= start.length
          ? start.subarray(offset, end)
          : this.#archive.read(address, { start: offset, end, etag });
      },
    };
    const privateKeys = await this.#privateKeys(file);
    const reader = await asDamage(() => openContainer(source, { header: file.header, privateKeys, segmentsPerFetch }));
    const version = sha256(JSON.stringify([sha256(file.header), address.archiveFilePath, etag])).slice(0, 32);
    const plain: PlainSource = {
      size: reader.size ?? 0,
      read: (from, to) => reader.read(from, to - from).catch((error: unknown) => Promise.reject(damageOf(error))),
    };
    return { file, body, plain, version };
  }

  async #privateKeys({ keyHash }: ArchivedFile): Promise<Uint8Array[]> {
    return (await this.#archiveKeys.candidates(keyHash)).map(({ privateKey }) => privateKey);
  }
}

/** A new header may name other keys or another edit list for the same body. */
function keyOf({ archiveLocation, archiveFilePath, header }: ArchivedFile): string {
  return JSON.stringify([archiveLocation, archiveFilePath, sha256(header)]);
}

function expectSize({ archiveFileSize }: ArchivedFile, size: number): void {
  if (size === archiveFileSize) return;
  throw new ArchiveDamagedError(`the catalogue says ${archiveFileSize} bytes of body, the archive has ${size}`);
}

async function* joined(header: Uint8Array, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield header;
  yield* body;
}

/** The same file with the bytes [start, end) in memory: one read, where the parts of a small region would take several. */
export async function inMemory(plain: PlainSource, start: number, end: number): Promise<PlainSource> {
  const last = Math.min(end, plain.size);
  const bytes = await plain.read(start, last);
  return {
    size: plain.size,
    read: async (from, to) =>
      from >= start && to <= last ? bytes.subarray(from - start, to - start) : plain.read(from, to),
  };
}
