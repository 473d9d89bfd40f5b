import { randomUUID } from 'node:crypto';
import { DeleteObjectCommand, PutObjectCommand, paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3';
import { directPrefix, parseDirectKey } from '../../../contract/direct-key.ts';
import { openMarkerKey } from '../../../contract/outbox-key.ts';
import type { RemovableOutbox } from '../../export/ports.ts';
import { errorStatus, storeFailure } from '../aws-failure.ts';
import { headObject, isConflict } from './head.ts';
import { abortAll, unfinishedUploads } from './unfinished-uploads.ts';

const what = 'the outbox bucket';

/** The outbox as containers are removed from it: each only while it is the one that was seen. */
export function s3OutboxRemover(client: S3Client, bucket: string): RemovableOutbox {
  async function* keysBelow(Prefix: string): AsyncGenerator<readonly string[]> {
    try {
      for await (const { Contents: objects = [] } of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix }))
        yield objects.flatMap(({ Key }) => Key ?? []);
    } catch (error) {
      throw storeFailure(error, what);
    }
  }

  return {
    head: (key) => headObject(client, { bucket, key, what }),

    async remove(key, etag) {
      try {
        await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key, IfMatch: etag }));
        return 'removed';
      } catch (error) {
        if (errorStatus(error) === 404) return 'gone';
        if (isConflict(error)) return 'replaced';
        throw storeFailure(error, what);
      }
    },

    async markOpen() {
      try {
        // Other bytes, so that it has another ETag.
        await client.send(new PutObjectCommand({ Bucket: bucket, Key: openMarkerKey, Body: randomUUID() }));
      } catch (error) {
        throw storeFailure(error, what);
      }
    },

    keysOf: (recipient) => keysBelow(`${recipient}/`),

    async *directKeys() {
      for await (const keys of keysBelow(directPrefix)) yield keys.filter((key) => parseDirectKey(key));
    },

    async abortUploads(key, kept) {
      try {
        const uploads = await unfinishedUploads(client, bucket, key);
        const others = uploads.filter(({ uploadId }) => !kept.has(uploadId));
        await abortAll(client, bucket, others);
      } catch (error) {
        throw storeFailure(error, what);
      }
    },
  };
}
