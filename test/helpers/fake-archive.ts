import { DataOutError, damaged, unavailable } from '../../lib/errors.ts';
import type { BodyAddress, ObjectHead } from '../../lib/service/archive/ports.ts';
import type { BegunBody } from '../../lib/service/direct/ports.ts';
import type { S3Archive } from '../../lib/service/stores/s3/archive.ts';
import type { PortCalls } from './port-calls.ts';

interface Body {
  readonly bytes: Uint8Array;
  readonly etag: string;
  readonly crc64nvme: string | undefined;
}

/** Archived bodies in memory, all in one bucket, the default. Counts what is read; refuses what S3 or the port's contract refuses. */
export class FakeArchive implements S3Archive {
  bytesRead = 0;
  #versions = 0;
  readonly #calls: PortCalls;
  readonly #bodies = new Map<string, Body>();

  constructor(calls: PortCalls) {
    this.#calls = calls;
  }

  /** @param crc64nvme the checksum that the archive keeps of the body, base64. @default - it keeps none */
  set(key: string, bytes: Uint8Array, crc64nvme?: string): void {
    this.#versions += 1;
    this.#bodies.set(key, { bytes, etag: `"archive-${this.#versions}"`, crc64nvme });
  }

  /** As an operator's mistake does it. */
  delete(key: string): void {
    this.#bodies.delete(key);
  }

  /** What a server-side copy reads; not a call of the function. */
  object({ archiveLocation, archiveFilePath: key }: BodyAddress): Body {
    if (archiveLocation !== undefined) {
      const message = `the archive location ${JSON.stringify(archiveLocation)} names no bucket of the settings`;
      throw new DataOutError('archive_location_unknown', message);
    }
    const body = this.#bodies.get(key);
    if (!body) throw damaged(`the archive has no body ${JSON.stringify(`archive/${key}`)}, which the catalogue names`);
    return body;
  }

  head(address: BodyAddress, options = { checksum: false }): Promise<ObjectHead> {
    return this.#calls.run('archive.head', async () => {
      const { bytes, etag, crc64nvme } = this.object(address);
      const told = options.checksum && crc64nvme !== undefined ? { crc64nvme } : {};
      return { size: bytes.length, etag, lastModified: new Date(0), metadata: {}, ...told };
    });
  }

  begin(address: BodyAddress, end = Number.POSITIVE_INFINITY): Promise<BegunBody> {
    return this.#calls.run('archive.begin', () => {
      const { bytes, etag } = this.object(address);
      const part = Uint8Array.from(bytes.subarray(0, end));
      this.bytesRead += part.length;
      return {
        size: bytes.length,
        etag,
        bytes: (async function* () {
          yield part;
        })(),
      };
    });
  }

  read(
    address: BodyAddress,
    { start, end, etag }: { readonly start: number; readonly end: number; readonly etag: string },
  ): Promise<Uint8Array> {
    return this.#calls.run('archive.read', () => {
      const body = this.object(address);
      if (body.etag !== etag) throw unavailable('PreconditionFailed');
      if (start < 0 || start >= end || end > body.bytes.length) throw new Error('InvalidRange');
      if (end - start > 8 * 1024 * 1024) throw new Error('more than 8 MiB at a time');
      this.bytesRead += end - start;
      // A copy, also of a Buffer: the reader gives the memory back.
      return Uint8Array.from(body.bytes.subarray(start, end));
    });
  }

  readWhole(
    address: BodyAddress,
    size: number,
    header: Uint8Array,
  ): Promise<{ container: Uint8Array; bodyCrc?: string }> {
    return this.#calls.run('archive.readWhole', () => {
      const { bytes, crc64nvme } = this.object(address);
      if (bytes.length !== size) {
        throw damaged(`the catalogue says ${size} bytes of body, the archive has ${bytes.length}`);
      }
      if (size > 8 * 1024 * 1024) throw new Error('more than 8 MiB at a time');
      this.bytesRead += size;
      return { container: Buffer.concat([header, bytes]), ...(crc64nvme !== undefined && { bodyCrc: crc64nvme }) };
    });
  }
}
