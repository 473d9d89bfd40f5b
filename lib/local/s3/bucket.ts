import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { DataFiles } from './data-files.ts';
import { readDocument, writeDocument } from './documents.ts';
import { SortedKeys } from './sorted-keys.ts';
import type { StoredObject } from './stored-object.ts';
import { Uploads } from './uploads.ts';

/**
 * A bucket on the disk. `objects/` has a document for each object, named by the hash of its key: a key of any bytes and
 * length gets a file. `uploads/` has the unfinished uploads. The bytes of all buckets are in {@link DataFiles}.
 *
 * There is no `await` between the check of a condition and the write, so no other request comes between them.
 */
export class Bucket {
  readonly name: string;
  /** Under a KMS key: entity tags are then no digests of the bytes, as in S3. */
  isEncrypted = false;
  readonly files: DataFiles;
  readonly uploads: Uploads;
  readonly keys = new SortedKeys();
  readonly #folder: string;
  readonly #objects = new Map<string, StoredObject>();

  /** Open a bucket, or make it. */
  constructor(folder: string, files: DataFiles) {
    this.name = basename(folder);
    this.files = files;
    this.#folder = join(folder, 'objects');
    mkdirSync(this.#folder, { recursive: true });
    this.uploads = new Uploads(join(folder, 'uploads'), files);
    for (const name of readdirSync(this.#folder, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.json')) continue;
      const object = readDocument<StoredObject>(join(this.#folder, name));
      this.#objects.set(object.key, object);
    }
    this.keys.fill(this.#objects.keys());
  }

  find(key: string): StoredObject | undefined {
    return this.#objects.get(key);
  }

  /** Put an object in the place of the one under its key, if any. */
  put(object: StoredObject): void {
    const previous = this.#objects.get(object.key);
    writeDocument(this.#document(object.key), object);
    this.#objects.set(object.key, object);
    if (previous) this.files.discard(previous);
    else this.keys.add(object.key);
  }

  delete(key: string): void {
    const object = this.#objects.get(key);
    if (!object) return;
    rmSync(this.#document(key), { force: true });
    this.#objects.delete(key);
    this.keys.delete(key);
    this.files.discard(object);
  }

  #document(key: string): string {
    const hash = createHash('sha256').update(key).digest('hex');
    const shard = join(this.#folder, hash.slice(0, 2));
    mkdirSync(shard, { recursive: true });
    return join(shard, `${hash}.json`);
  }
}
