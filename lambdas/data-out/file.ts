import type { ServedFile } from '../../lib/api/direct/entitled-file.ts';
import { serveContent } from '../../lib/api/direct/serve-content.ts';
import { serveFile } from '../../lib/api/direct/serve-file.ts';
import { serveHeader } from '../../lib/api/direct/serve-header.ts';
import { directChallenge } from '../../lib/contract/challenges.ts';
import { environment } from '../../lib/contract/environment.ts';
import { s3Client } from '../../lib/stores/s3/client.ts';
import { S3DirectUrls } from '../../lib/stores/s3/direct-urls.ts';
import { S3OutboxWriter } from '../../lib/stores/s3/outbox-writer.ts';
import { streamedHandler } from '../shared/http.ts';
import { logger } from '../shared/observability.ts';
import { keepMemorySmall, required, requiredNumber } from '../shared/runtime.ts';
import { deployedArchive, directAccess } from '../shared/wiring.ts';

keepMemorySmall();

const client = s3Client();
const { archiveBuckets, archive, archiveKeys } = deployedArchive(client);
const outboxBucket = required(environment.outboxBucket);
const urlLifetimeSeconds = requiredNumber(environment.urlLifetimeSeconds);

const endpoint = {
  ...directAccess(),
  archive,
  archiveKeys,
  outbox: new S3OutboxWriter({ client, bucket: outboxBucket, archiveBuckets }),
  urls: new S3DirectUrls({ client, archiveBuckets, outboxBucket, urlLifetimeSeconds }),
  now: () => new Date(),
  served: (file: ServedFile) => logger.info('served', { ...file }),
};

/**
 * `GET|HEAD /files/{fileId}[/{name}]`, behind the authorizer, streamed: decrypted on the way, or for a key of the caller. Below it
 * `/header` and `/content`: the two halves of a container.
 */
export const handler = streamedHandler(directChallenge, (request, invocation) => {
  if (invocation.resource.endsWith('/header')) return serveHeader(request, endpoint);
  if (invocation.resource.endsWith('/content')) return serveContent(request, endpoint);
  return serveFile(request, endpoint, invocation);
});
