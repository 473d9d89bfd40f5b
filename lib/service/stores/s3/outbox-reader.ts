import { paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3';
import { isOutboxFileName, outboxKey, parseOutboxKey } from '../../../contract/outbox-key.ts';
import type { Clock } from '../../archive/ports.ts';
import type { OutboxReader, StagedFile } from '../../outbox/ports.ts';
import { storeFailure } from '../aws-failure.ts';
import { headObject } from './head.ts';
import { presignedGet } from './presigned.ts';

interface OutboxReaderOptions {
  readonly client: S3Client;
  readonly bucket: string;
  /** Life of a presigned URL, in seconds. */
  readonly urlLifetimeSeconds: number;
  /** @default - the system's clock */
  readonly clock?: Clock;
}

const what = 'the outbox bucket';

/** The outbox as the proxy reads it: always below one recipient's prefix. */
export class S3OutboxReader implements OutboxReader {
  readonly #options: OutboxReaderOptions;

  constructor(options: OutboxReaderOptions) {
    this.#options = options;
  }

  async *list(prefix: string, after?: string): AsyncGenerator<readonly StagedFile[]> {
    const { client, bucket: Bucket } = this.#options;
    const StartAfter = after === undefined ? undefined : outboxKey(prefix, after);
    try {
      for await (const page of paginateListObjectsV2({ client }, { Bucket, Prefix: `${prefix}/`, StartAfter })) {
        const files = (page.Contents ?? []).flatMap(({ Key, Size, LastModified, ETag }) => {
          const parsed = Key === undefined ? undefined : parseOutboxKey(Key);
          // Only what this service staged for this recipient; anything else in the bucket is not the caller's.
          if (parsed?.prefix !== prefix || Size === undefined || !LastModified || !ETag) return [];
          return [{ name: parsed.name, size: Size, lastModified: LastModified, etag: ETag }];
        });
        if (files.length > 0) yield files;
      }
    } catch (error) {
      throw storeFailure(error, what);
    }
  }

  async find(prefix: string, name: string): Promise<StagedFile | undefined> {
    if (!isOutboxFileName(name)) return undefined;
    const { client, bucket } = this.#options;
    const head = await headObject(client, { bucket, key: outboxKey(prefix, name), what });
    return head && { name, size: head.size, lastModified: head.lastModified, etag: head.etag };
  }

  /** See {@link presignedGet}: ask {@link find} first. */
  async presign(prefix: string, name: string): Promise<{ url: string; expiresAt: Date }> {
    const { client, bucket, urlLifetimeSeconds, clock } = this.#options;
    const object = { bucket, key: outboxKey(prefix, name), fileName: name };
    return presignedGet(client, object, { urlLifetimeSeconds, ...(clock && { clock }) });
  }
}
