import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { parseDirectKey } from '../../../contract/direct-key.ts';
import { isOutboxFileName } from '../../../contract/outbox-key.ts';
import type { Clock, SignedUrl } from '../../archive/ports.ts';
import type { DirectUrls } from '../../direct/ports.ts';
import { type ArchiveBuckets, bucketAt } from './archive.ts';

export interface PresignOptions {
  /** Life of a presigned URL, in seconds. */
  readonly urlLifetimeSeconds: number;
  /** @default - the system's clock */
  readonly clock?: Clock;
}

/**
 * A presigned URL for GET, which serves the object as an attachment.
 *
 * Signing sends no request, so the object may be missing. `expiresAt` is the latest moment: S3 refuses the URL from
 * when the signing role's session ends, and Lambda does not tell a function when that is.
 *
 * @throws RangeError when `fileName` is not one safe path segment
 */
export async function presignedGet(
  client: S3Client,
  object: { readonly bucket: string; readonly key: string; readonly fileName: string },
  { urlLifetimeSeconds, clock = () => new Date() }: PresignOptions,
): Promise<SignedUrl> {
  if (!isOutboxFileName(object.fileName)) throw new RangeError('expected a file name of [A-Za-z0-9._-]');
  const now = clock();
  const command = new GetObjectCommand({
    Bucket: object.bucket,
    Key: object.key,
    // The name is safe inside the quotes: letters, digits, dot, dash and underscore only.
    ResponseContentDisposition: `attachment; filename="${object.fileName}"`,
  });
  const url = await getSignedUrl(client, command, { expiresIn: urlLifetimeSeconds, signingDate: now });
  // S3 counts from the signing time, which the URL carries in whole seconds.
  return { url, expiresAt: new Date((Math.floor(now.getTime() / 1000) + urlLifetimeSeconds) * 1000) };
}

interface DirectUrlsOptions extends PresignOptions {
  readonly client: S3Client;
  readonly archiveBuckets: ArchiveBuckets;
  readonly outboxBucket: string;
}

/** Presigned URLs of the direct API: for short-lived containers in the outbox bucket, and for archived bodies as they are. */
export function directUrls({ client, archiveBuckets, outboxBucket, ...options }: DirectUrlsOptions): DirectUrls {
  return {
    /** @throws RangeError for a key outside the short-lived part: containers of the outbox are never signed here. */
    async container(key) {
      const parsed = parseDirectKey(key);
      if (!parsed) throw new RangeError('expected the key of a short-lived container');
      return presignedGet(client, { bucket: outboxBucket, key, fileName: parsed.name }, options);
    },
    async body({ archiveLocation, archiveFilePath: key }, fileName) {
      return presignedGet(client, { bucket: bucketAt(archiveLocation, archiveBuckets), key, fileName }, options);
    },
  };
}
