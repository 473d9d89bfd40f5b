import type { S3Client } from '@aws-sdk/client-s3';
import { environment } from '../../lib/contract/environment.ts';
import { S3Archive } from '../../lib/stores/s3/archive.ts';
import { parseArchiveBuckets } from '../../lib/stores/s3/archive-buckets.ts';
import { SecretArchiveKeys } from '../../lib/stores/secrets/archive-keys.ts';
import { secretsManagerClient } from '../../lib/stores/secrets/client.ts';
import { required } from './environment.ts';

/** The archived bodies, their buckets and the archive's keys, from the environment of the function. @throws at start-up */
export function deployedArchive(client: S3Client) {
  const archiveBuckets = parseArchiveBuckets(required(environment.archiveBuckets));
  const secretArn = required(environment.archiveKeysSecretArn);
  return {
    archiveBuckets,
    archive: new S3Archive({ client, buckets: archiveBuckets }),
    archiveKeys: new SecretArchiveKeys({ client: secretsManagerClient(), secretArn }),
  };
}
