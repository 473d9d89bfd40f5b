import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AwsError } from '../endpoint/errors.ts';
import { contentsOf, type DataFiles, type Extent, newId } from './data-files.ts';
import { appendLine, readDocument, readLines, writeDocument } from './documents.ts';
import { compareUtf8 } from './sorted-keys.ts';

/** A part, as a line of the upload's list describes it. */
export interface Part {
  readonly number: number;
  readonly extents: readonly Extent[];
  readonly size: number;
  /** With its quotes. */
  readonly etag: string;
  /** Sixteen hex digits. */
  readonly crc: string;
  /** Milliseconds since 1970. */
  readonly lastModified: number;
}

/** An unfinished multipart upload. Its id is also the owner of its data files. */
export interface Upload {
  readonly id: string;
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly initiated: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the client asked for CRC64NVME when the upload began: S3 then tells the checksum of each part. */
  readonly tellsChecksums: boolean;
  readonly parts: ReadonlyMap<number, Part>;
}

/**
 * The unfinished uploads of a bucket: a document for each, and beside it a list with a line for each part that came.
 */
export class Uploads {
  readonly #folder: string;
  readonly #files: DataFiles;
  readonly #uploads = new Map<string, Upload & { readonly parts: Map<number, Part> }>();

  constructor(folder: string, files: DataFiles) {
    this.#folder = folder;
    this.#files = files;
    mkdirSync(folder, { recursive: true });
    // What an earlier run left.
    for (const name of readdirSync(folder)) {
      const [id = ''] = name.split('.');
      if (name !== `${id}.json`) continue;
      const upload = readDocument<Omit<Upload, 'parts'>>(join(folder, name));
      const parts = readLines<Part>(this.#list(id));
      this.#uploads.set(id, { ...upload, parts: new Map(parts.map((part) => [part.number, part])) });
    }
  }

  create(upload: Omit<Upload, 'id' | 'parts'>): Upload {
    const id = newId();
    writeDocument(join(this.#folder, `${id}.json`), { id, ...upload });
    const created = { ...upload, id, parts: new Map<number, Part>() };
    this.#uploads.set(id, created);
    return created;
  }

  /** @throws AwsError NoSuchUpload */
  get(id: string, key: string): Upload {
    const upload = this.#uploads.get(id);
    if (upload?.key === key) return upload;
    throw new AwsError(
      404,
      'NoSuchUpload',
      'The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.',
    );
  }

  /**
   * Add a part. It replaces one with the same number. @throws AwsError NoSuchUpload, when the upload has ended
   * meanwhile
   */
  addPart({ id, key }: Upload, part: Part): void {
    this.get(id, key);
    const upload = this.#uploads.get(id);
    appendLine(this.#list(id), part);
    upload?.parts.set(part.number, part);
  }

  /** Remove an upload. @param kept contents that now belong to an object */
  end({ id, parts }: Upload, kept: ReadonlySet<string>): void {
    this.#uploads.delete(id);
    const listed = readLines<Part>(this.#list(id));
    rmSync(join(this.#folder, `${id}.json`), { force: true });
    rmSync(this.#list(id), { force: true });
    const contents = contentsOf([...parts.values(), ...listed].flatMap(({ extents }) => extents));
    this.#files.remove(
      id,
      [...contents].filter((content) => !kept.has(content)),
    );
  }

  /** All uploads, by key and then by the time they began. */
  list(): readonly Upload[] {
    return [...this.#uploads.values()].sort(
      (a, b) => compareUtf8(a.key, b.key) || a.initiated - b.initiated || compareUtf8(a.id, b.id),
    );
  }

  /** Backdate the uploads under a prefix, so that a test need not wait. */
  backdate(prefix: string, milliseconds: number): void {
    for (const [id, upload] of this.#uploads) {
      if (!upload.key.startsWith(prefix)) continue;
      this.#uploads.set(id, { ...upload, initiated: upload.initiated - milliseconds });
    }
  }

  #list(id: string): string {
    return join(this.#folder, `${id}.parts`);
  }
}
