import { Recent } from '../../../common/recent.ts';
import { decrypt, openContainer } from '../../../crypt4gh/index.ts';
import { damaged } from '../../../errors.ts';
import {
  type DataFormat,
  type FileHead,
  type PlainSource,
  type RegionIndex,
  RegionsError,
  readHead,
  readIndex,
} from '../../../regions/index.ts';
import { bodySource, nameDamagedFile } from '../../archive/archived-file.ts';
import type { ArchivedFile, ArchiveKeys, ContainerSource } from '../../archive/ports.ts';
import { asDamage, plaintextPieces } from '../plaintext.ts';
import type { DirectArchive } from '../ports.ts';
import { sha256 } from '../representation.ts';

/** Bytes of the first read of a body: four segments, in which most headers end. */
const firstRead = 4 * (65_536 + 28);
/** Segments of one read: 5 MiB, so that what a ticket holds itself comes in one. */
const segmentsPerFetch = 80;
/** Bytes of memory for headers, and for indexes, of files that were asked for lately. */
const keptHeadBytes = 16 * 2 ** 20;
const keptIndexBytes = 48 * 2 ** 20;

/** A data file of the archive at this moment, with random access to its plaintext. */
export interface OpenedFile {
  readonly file: ArchivedFile;
  /** The archived body. */
  readonly body: ContainerSource;
  readonly plain: PlainSource;
  /** Which version of header and body this is: 32 hex characters. */
  readonly version: string;
}

/** What was read of an object, or why it cannot be read, which another request would find out again. */
interface Kept<Value> {
  readonly etag: string;
  readonly value: Value | RegionsError;
}

/** What a refusal takes in memory, about. */
const refusalBytes = 1024;

/** @throws the refusal that is kept */
function readable<Value>({ value }: Kept<Value>): Value {
  if (value instanceof RegionsError) throw value;
  return value;
}

/**
 * Archived files as plaintext: their headers, their indexes, any of their bytes. Headers and indexes stay in memory for as long
 * as the archive has the same object. Plaintext exists in memory only.
 */
export class PlainFiles {
  readonly #archive: DirectArchive;
  readonly #archiveKeys: ArchiveKeys;
  readonly #heads = keeper<FileHead>(keptHeadBytes);
  readonly #indexes = keeper<RegionIndex>(keptIndexBytes);

  constructor({ archive, archiveKeys }: { readonly archive: DirectArchive; readonly archiveKeys: ArchiveKeys }) {
    this.#archive = archive;
    this.#archiveKeys = archiveKeys;
  }

  async open(file: ArchivedFile): Promise<OpenedFile> {
    return nameDamagedFile(file.fileId, async () => this.#opened(file, await bodySource(file, this.#archive)));
  }

  /**
   * The file with its header. One call of S3, more for a long header.
   *
   * @throws `unsupported_format` for a file that is not of this format
   */
  async withHead(file: ArchivedFile, format: DataFormat): Promise<OpenedFile & { readonly head: FileHead }> {
    return nameDamagedFile(file.fileId, async () => {
      const kept = await this.#keptOf(file, this.#heads);
      if (kept) return { ...(await this.#opened(file, kept.body)), head: readable(kept) };
      const { body, bytes } = await this.#begun(file, firstRead);
      const opened = await this.#opened(file, body, Buffer.concat(await Array.fromAsync(bytes)));
      const value = await orRefusal(readHead(opened.plain, format));
      const read = { etag: body.archiveEtag, value };
      void this.#heads.set(keyOf(file), read);
      return { ...opened, head: readable(read) };
    });
  }

  /**
   * The index of a data file. One call of S3 at any size.
   *
   * @param dataBytes size of the data file
   * @throws `unsupported_format` for an index that breaks the rules of its format
   */
  async index(file: ArchivedFile, dataBytes: number): Promise<RegionIndex> {
    return nameDamagedFile(file.fileId, async () => {
      const kept = await this.#keptOf(file, this.#indexes);
      if (kept) return readable(kept);
      const privateKeys = await this.#privateKeys(file);
      const { body, bytes } = await this.#begun(file);
      const plain = decrypt(joined(file.header, bytes), { privateKeys });
      const value = await orRefusal(asDamage(() => readIndex(plain, { dataBytes })));
      const read = { etag: body.archiveEtag, value };
      void this.#indexes.set(keyOf(file), read);
      return readable(read);
    });
  }

  /** What is kept of the object that the archive has now. */
  async #keptOf<Value>(
    file: ArchivedFile,
    values: Recent<Kept<Value>>,
  ): Promise<(Kept<Value> & { readonly body: ContainerSource }) | undefined> {
    const kept = await values.peek(keyOf(file));
    if (!kept) return undefined;
    const body = await bodySource(file, this.#archive);
    return body.archiveEtag === kept.etag ? { ...kept, body } : undefined;
  }

  /** A body from its first byte on, where an empty one has no range. A wrong size ends the read. */
  async #begun(file: ArchivedFile, end?: number): Promise<{ body: ContainerSource; bytes: AsyncIterable<Uint8Array> }> {
    const { archiveLocation, archiveFilePath, archiveFileSize } = file;
    const address = { archiveLocation, archiveFilePath };
    const { size, etag, bytes } = await this.#archive.begin(address, archiveFileSize === 0 ? undefined : end);
    if (size === archiveFileSize) return { body: { address, archiveEtag: etag, bodySize: size }, bytes };
    await closed(bytes);
    throw damaged(`the catalogue says ${archiveFileSize} bytes of body, the archive has ${size}`);
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
    const { header } = file;
    const reader = await asDamage(() =>
      openContainer(source, { header, privateKeys, segmentsPerFetch, fetchesInFlight: 2 }),
    );
    const version = sha256(JSON.stringify([sha256(header), address.archiveFilePath, etag])).slice(0, 32);
    const plain: PlainSource = {
      size: reader.size ?? 0,
      read: (from, to) => asDamage(() => reader.read(from, to - from)),
      stream: (from, to) => plaintextPieces(reader, from, to),
    };
    return { file, body, plain, version };
  }

  async #privateKeys({ keyHash }: ArchivedFile): Promise<Uint8Array[]> {
    return (await this.#archiveKeys.candidates(keyHash)).map(({ privateKey }) => privateKey);
  }
}

function keeper<Value extends { readonly memoryBytes: number }>(most: number): Recent<Kept<Value>> {
  return new Recent({ most, size: ({ value }) => (value instanceof RegionsError ? refusalBytes : value.memoryBytes) });
}

async function orRefusal<Value>(reading: Promise<Value>): Promise<Value | RegionsError> {
  return await reading.catch((error: unknown) => {
    if (error instanceof RegionsError) return error;
    throw error;
  });
}

/** A new header may name other keys or another edit list for the same body. */
function keyOf({ archiveLocation, archiveFilePath, header }: ArchivedFile): string {
  return JSON.stringify([archiveLocation, archiveFilePath, sha256(header)]);
}

async function* joined(header: Uint8Array, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield header;
    yield* body;
  } finally {
    await closed(body);
  }
}

/** Ends a read. An iteration that never began would leave its stream open. */
async function closed(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of bytes) break;
}
