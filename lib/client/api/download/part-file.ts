import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod/mini';
import { formatCrc, parseCrc } from '../../../common/crc64nvme.ts';
import { parseJson } from '../../../common/untrusted-json.ts';
import { wholeNumber } from '../json.ts';
import { ifThere, LocalDiskError, onDisk, syncFolder } from './disk/local-disk.ts';
import type { LocalPaths } from './disk/local-name.ts';

/** Bytes of one piece; the last one of a file can be shorter. */
export const pieceBytes = 8 * 1024 * 1024;
/** Written at once. For more, Linux takes pages as large, which an idle machine may first have to get from its host. */
const writeBytes = 256 * 1024;
/** Sent to the disk while more comes, so that the end of a large file waits for little. */
const flushBytes = 256 * 1024 * 1024;

/** Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;
const making = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | noFollow;
const appending = constants.O_WRONLY | constants.O_APPEND | noFollow;

interface Wanted {
  readonly name: string;
  /** Bytes of the whole file. */
  readonly size: number;
  /** Default: 8 MiB. */
  readonly pieceBytes?: number;
}

/**
 * A file that is written piece by piece, in any order, until it is whole. A journal beside it notes each piece with its CRC: a
 * line of JSON for the file, then one for each piece. Nothing waits for the disk, since after a crash a noted piece is read back
 * and compared. The journal holds no address, no credentials and no key.
 */
export class PartFile {
  /** CRC-64/NVME of the pieces that an earlier run noted, by their numbers. */
  readonly noted: ReadonlyMap<number, bigint>;
  /** The entity tag of their version. */
  readonly etag: string | undefined;
  readonly #paths: LocalPaths;
  readonly #wanted: Wanted;
  readonly #handle: FileHandle;
  #journal: Promise<FileHandle> | undefined;
  #unflushed = 0;
  #flushed: Promise<unknown> = Promise.resolve();

  private constructor(paths: LocalPaths, wanted: Wanted, handle: FileHandle, left: Left | undefined) {
    this.#paths = paths;
    this.#wanted = wanted;
    this.#handle = handle;
    this.noted = left?.noted ?? new Map();
    this.etag = left?.etag;
  }

  /**
   * Opens what an earlier run left, or makes a new file, so that a process that has opened the old one reads nothing of it. A
   * part without a journal of the same file is of no use, nor is a journal without a part. No link is followed.
   * @throws LocalDiskError
   */
  static async open(paths: LocalPaths, wanted: Wanted): Promise<PartFile> {
    const left = await leftOver(paths.journal, wanted);
    return await onDisk(paths.part, async () => {
      const found = left && (await open(paths.part, constants.O_RDWR | noFollow).catch(() => undefined));
      if (found) {
        // Another program can have made it longer.
        if ((await found.stat()).size > wanted.size) await found.truncate(wanted.size);
        return new PartFile(paths, wanted, found, left);
      }
      // In this order: a journal must never be found beside a part that it does not describe.
      await rm(paths.journal, { force: true });
      await rm(paths.part, { force: true });
      return new PartFile(paths, wanted, await open(paths.part, making), undefined);
    });
  }

  /** @throws LocalDiskError */
  async write(bytes: Uint8Array, position: number): Promise<void> {
    const starts = Array.from({ length: Math.ceil(bytes.length / writeBytes) }, (_, index) => index * writeBytes);
    const write = async (start: number) => {
      const end = Math.min(start + writeBytes, bytes.length);
      for (let at = start; at < end; ) {
        at += (await this.#handle.write(bytes, at, end - at, position + at)).bytesWritten;
      }
    };
    await onDisk(this.#paths.part, () => Promise.all(starts.map(write)));
    this.#unflushed += bytes.length;
    if (this.#unflushed < flushBytes) return;
    this.#unflushed = 0;
    // The system reports a failure once, so that the end has to wait for each of them.
    this.#flushed = Promise.all([this.#flushed, this.#handle.datasync()]);
    this.#flushed.catch(() => undefined);
  }

  /** Up to `length` bytes from `position` on. @param memory gets them @throws LocalDiskError */
  async read(position: number, length: number, memory: Buffer = Buffer.allocUnsafe(length)): Promise<Buffer> {
    const { bytesRead } = await onDisk(this.#paths.part, () => this.#handle.read(memory, 0, length, position));
    return memory.subarray(0, bytesRead);
  }

  /** Notes a piece that is written. A version without an entity tag is not resumed. @throws LocalDiskError */
  async note(piece: number, crc: bigint, etag: string | undefined): Promise<void> {
    if (etag === undefined) return;
    await onDisk(this.#paths.journal, async () => {
      this.#journal ??= this.#openJournal(etag);
      // The first line of an earlier run that was cut gets its end.
      await (await this.#journal).write(`\n${JSON.stringify([piece, formatCrc(crc)])}`);
    });
  }

  /** Whether the next run has something to resume. */
  get isOfUse(): boolean {
    return this.noted.size > 0 || this.#journal !== undefined;
  }

  async #openJournal(etag: string): Promise<FileHandle> {
    if (this.etag !== undefined) return await open(this.#paths.journal, appending);
    const { name, size } = this.#wanted;
    const journal = await open(this.#paths.journal, making, 0o600);
    await journal.write(JSON.stringify({ name, size, etag }));
    return journal;
  }

  /**
   * Gives the file its final name, in the order that survives a crash: sync, rename, remove the journal. The file gets the time
   * of the remote file.
   * @param replaces whether it can take the name of another file
   * @throws LocalDiskError
   */
  async finish(modified: Date | undefined, { replaces }: { readonly replaces: boolean }): Promise<void> {
    const { final, part, journal } = this.#paths;
    await onDisk(part, async () => {
      // A convenience: no reason to fail.
      if (modified) await this.#handle.utimes(modified, modified).catch(() => undefined);
      await this.#flushed;
      await this.#handle.datasync();
    });
    if (!replaces && (await onDisk(final, () => ifThere(lstat(final))))) {
      throw new LocalDiskError(`${final} exists already: another program made it meanwhile`, {
        remedy: 'Run the same command again.',
      });
    }
    await onDisk(final, () => rename(part, final));
    await this.close();
    if (!this.isOfUse) return;
    await syncFolder(dirname(final));
    await onDisk(journal, () => rm(journal, { force: true }));
  }

  /** Ends the work and keeps what there is. */
  async close(): Promise<void> {
    await (await this.#journal?.catch(() => undefined))?.close();
    await this.#handle.close();
  }

  /** Ends the work and removes everything. @throws LocalDiskError */
  async discard(): Promise<void> {
    await this.close();
    await onDisk(this.#paths.part, async () => {
      await rm(this.#paths.journal, { force: true });
      await rm(this.#paths.part, { force: true });
    });
  }
}

interface Left {
  readonly etag: string;
  readonly noted: ReadonlyMap<number, bigint>;
}

const first = z.object({ name: z.string(), size: wholeNumber, etag: z.string() });
const line = z.tuple([wholeNumber, z.string().check(z.regex(/^[\w+/]{11}=$/))]);

/** What the journal of an earlier run says of the same file; `undefined` if it is of no use. Lines that were cut say nothing. */
async function leftOver(
  path: string,
  { name, size, pieceBytes: most = pieceBytes }: Wanted,
): Promise<Left | undefined> {
  const written = await onDisk(path, () => ifThere(readFile(path, 'utf8')));
  const [head = '', ...lines] = written?.split('\n') ?? [];
  const file = first.safeParse(parseJson(head)).data;
  if (file?.name !== name || file.size !== size) return undefined;
  const noted = new Map<number, bigint>();
  for (const each of lines) {
    const [piece = size, crc = ''] = line.safeParse(parseJson(each)).data ?? [];
    if (piece * most < size) noted.set(piece, parseCrc(crc));
  }
  return { etag: file.etag, noted };
}
