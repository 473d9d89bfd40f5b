import type { S3Client } from '@aws-sdk/client-s3';
import type { BodyAddress, SignedUrl } from '../../archive/ports.ts';
import { parseDirectKey } from '../../contract/direct-key.ts';
import type { DirectUrls } from '../../direct/ports.ts';
import { type ArchiveBuckets, bucketAt } from './archive-buckets.ts';
import { type PresignOptions, presignedGet } from './presigned-get.ts';

interface DirectUrlsOptions extends PresignOptions {
  readonly client: S3Client;
  readonly archiveBuckets: ArchiveBuckets;
  readonly outboxBucket: string;
}

/** Presigned URLs of direct access: for short-lived containers in the outbox bucket, and for archived bodies as they are. */
export class S3DirectUrls implements DirectUrls {
  readonly #options: DirectUrlsOptions;

  constructor(options: DirectUrlsOptions) {
    this.#options = options;
  }

  /** @throws RangeError for a key outside the short-lived part: containers of the outbox are never signed here. */
  async container(key: string): Promise<SignedUrl> {
    const parsed = parseDirectKey(key);
    if (!parsed) throw new RangeError('expected the key of a short-lived container');
    const { client, outboxBucket: bucket } = this.#options;
    return presignedGet(client, { bucket, key, fileName: parsed.name }, this.#options);
  }

  /** @throws ArchiveLocationUnknownError */
  async body({ archiveLocation, archiveFilePath: key }: BodyAddress, fileName: string): Promise<SignedUrl> {
    const { client, archiveBuckets } = this.#options;
    const bucket = bucketAt(archiveLocation, archiveBuckets);
    return presignedGet(client, { bucket, key, fileName }, this.#options);
  }
}
