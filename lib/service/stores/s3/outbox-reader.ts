import { paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3';
import { isOutboxFileName, outboxKey, parseOutboxKey } from '../../../contract/outbox-key.ts';
import type { OutboxReader } from '../../outbox/ports.ts';
import { storeFailure } from '../aws-failure.ts';
import { headObject } from './head.ts';
import { type PresignOptions, presignedGet } from './presigned.ts';

interface OutboxReaderOptions extends PresignOptions {
  readonly client: S3Client;
  readonly bucket: string;
}

const what = 'the outbox bucket';

/** The outbox as the delivery API reads it: always below one recipient's prefix. `presign` needs a name that `find` has found. */
export function s3OutboxReader({ client, bucket, ...presigning }: OutboxReaderOptions): OutboxReader {
  return {
    async *list(prefix, after) {
      const StartAfter = after === undefined ? undefined : outboxKey(prefix, after);
      const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: `${prefix}/`, StartAfter });
      try {
        for await (const { Contents: objects = [] } of pages) {
          const files = objects.flatMap(({ Key, Size: size, LastModified: lastModified, ETag: etag }) => {
            const parsed = Key === undefined ? undefined : parseOutboxKey(Key);
            // Only what this service staged for this recipient; anything else in the bucket is not the caller's.
            if (parsed?.prefix !== prefix || size === undefined || !lastModified || !etag) return [];
            return [{ name: parsed.name, size, lastModified, etag }];
          });
          if (files.length > 0) yield files;
        }
      } catch (error) {
        throw storeFailure(error, what);
      }
    },

    async find(prefix, name) {
      if (!isOutboxFileName(name)) return undefined;
      const head = await headObject(client, { bucket, key: outboxKey(prefix, name), what });
      return head && { name, size: head.size, lastModified: head.lastModified, etag: head.etag };
    },

    presign: async (prefix, name) =>
      presignedGet(client, { bucket, key: outboxKey(prefix, name), fileName: name }, presigning),
  };
}
