import { randomUUID } from 'node:crypto';
import { DeleteObjectCommand, PutObjectCommand, paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3';
import { directPrefix, parseDirectKey } from '../../../contract/direct-key.ts';
import { openMarkerKey } from '../../../contract/outbox-key.ts';
import type { ObjectHead } from '../../archive/ports.ts';
import type { RemovableOutbox } from '../../export/ports.ts';
import { errorStatus, storeFailure } from '../aws-failure.ts';
import { headObject, isConflict } from './head.ts';
import { abortAll, unfinishedUploads } from './unfinished-uploads.ts';

const what = 'the outbox bucket';

/** The outbox as containers are removed from it: each only while it is the one that was seen. */
export class S3OutboxRemover implements RemovableOutbox {
  readonly #client: S3Client;
  readonly #bucket: string;

  constructor(options: { readonly client: S3Client; readonly bucket: string }) {
    this.#client = options.client;
    this.#bucket = options.bucket;
  }

  head(key: string): Promise<ObjectHead | undefined> {
    return headObject(this.#client, { bucket: this.#bucket, key, what });
  }

  async remove(key: string, etag: string): Promise<'removed' | 'gone' | 'replaced'> {
    try {
      await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key, IfMatch: etag }));
      return 'removed';
    } catch (error) {
      if (errorStatus(error) === 404) return 'gone';
      if (isConflict(error)) return 'replaced';
      throw storeFailure(error, what);
    }
  }

  async markOpen(): Promise<void> {
    try {
      // Other bytes, so that it has another ETag.
      await this.#client.send(new PutObjectCommand({ Bucket: this.#bucket, Key: openMarkerKey, Body: randomUUID() }));
    } catch (error) {
      throw storeFailure(error, what);
    }
  }

  keysOf(recipient: string): AsyncGenerator<readonly string[]> {
    return this.#keys(`${recipient}/`);
  }

  async *directKeys(): AsyncGenerator<readonly string[]> {
    for await (const keys of this.#keys(directPrefix)) yield keys.filter((key) => parseDirectKey(key));
  }

  async *#keys(Prefix: string): AsyncGenerator<readonly string[]> {
    const pages = paginateListObjectsV2({ client: this.#client }, { Bucket: this.#bucket, Prefix });
    try {
      for await (const page of pages) yield (page.Contents ?? []).flatMap(({ Key }) => Key ?? []);
    } catch (error) {
      throw storeFailure(error, what);
    }
  }

  async abortUploads(key: string, kept: ReadonlySet<string>): Promise<void> {
    try {
      const uploads = await unfinishedUploads(this.#client, this.#bucket, key);
      const others = uploads.filter(({ uploadId }) => !kept.has(uploadId));
      await abortAll(this.#client, this.#bucket, others);
    } catch (error) {
      throw storeFailure(error, what);
    }
  }
}
