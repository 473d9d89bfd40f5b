import type { BodyAddress, ObjectHead } from '../../lib/archive/ports.ts';
import { ArchiveDamagedError, ArchiveLocationUnknownError } from '../../lib/errors.ts';
import type { ExportArchive } from '../../lib/export/ports.ts';
import type { PortCalls } from './port-calls.ts';

/** Archived bodies in memory, all in one bucket, the default. Counts what is read; refuses what S3 or the port's contract refuses. */
export class FakeArchive implements ExportArchive {
  bytesRead = 0;
  #versions = 0;
  readonly #calls: PortCalls;
  readonly #bodies = new Map<string, { readonly bytes: Uint8Array; readonly etag: string }>();

  constructor(calls: PortCalls) {
    this.#calls = calls;
  }

  set(key: string, bytes: Uint8Array): void {
    this.#versions += 1;
    this.#bodies.set(key, { bytes, etag: `"archive-${this.#versions}"` });
  }

  /** What a server-side copy reads; not a call of the function. */
  object({ archiveLocation, archiveFilePath: key }: BodyAddress): {
    readonly bytes: Uint8Array;
    readonly etag: string;
  } {
    if (archiveLocation !== undefined) throw new ArchiveLocationUnknownError(archiveLocation);
    const body = this.#bodies.get(key);
    if (!body) throw new ArchiveDamagedError('no such body');
    return body;
  }

  head(address: BodyAddress): Promise<ObjectHead> {
    return this.#calls.run('archive.head', () => {
      const { bytes, etag } = this.object(address);
      return { size: bytes.length, etag, lastModified: new Date(0), metadata: {} };
    });
  }

  read(
    address: BodyAddress,
    { start, end, etag }: { readonly start: number; readonly end: number; readonly etag: string },
  ): Promise<Uint8Array> {
    return this.#calls.run('archive.read', () => {
      const body = this.object(address);
      if (body.etag !== etag) throw new Error('PreconditionFailed');
      if (start < 0 || start >= end || end > body.bytes.length) throw new Error('InvalidRange');
      if (end - start > 8 * 1024 * 1024) throw new Error('more than 8 MiB at a time');
      this.bytesRead += end - start;
      return body.bytes.slice(start, end);
    });
  }

  readWhole(address: BodyAddress, size: number, header: Uint8Array): Promise<Uint8Array> {
    return this.#calls.run('archive.readWhole', () => {
      const { bytes } = this.object(address);
      if (bytes.length !== size) {
        throw new ArchiveDamagedError(`the catalogue says ${size} bytes of body, the archive has ${bytes.length}`);
      }
      if (size > 8 * 1024 * 1024) throw new Error('more than 8 MiB at a time');
      this.bytesRead += size;
      return Buffer.concat([header, bytes]);
    });
  }
}
