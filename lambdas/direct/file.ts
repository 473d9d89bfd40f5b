import { environment } from '../../lib/contract/environment.ts';
import { directChallenge } from '../../lib/contract/http.ts';
import type { ServedFile } from '../../lib/service/direct/access.ts';
import { serveSdaFile } from '../../lib/service/direct/compatibility/sda.ts';
import { serveContent, serveFile, serveHeader } from '../../lib/service/direct/serve-file.ts';
import { s3Client } from '../../lib/service/stores/clients.ts';
import { s3Outbox } from '../../lib/service/stores/s3/outbox.ts';
import { directUrls } from '../../lib/service/stores/s3/presigned.ts';
import { directAccess } from '../shared/direct-wiring.ts';
import { streamedHandler } from '../shared/http.ts';
import { logger } from '../shared/observability.ts';
import { keepMemorySmall, required, requiredNumber } from '../shared/runtime.ts';
import { deployedArchive } from '../shared/wiring.ts';

keepMemorySmall();

const client = s3Client();
const { archiveBuckets, archive, archiveKeys } = deployedArchive(client);
const outboxBucket = required(environment.outboxBucket);
const urlLifetimeSeconds = requiredNumber(environment.urlLifetimeSeconds);

const endpoint = {
  ...directAccess(),
  archive,
  archiveKeys,
  outbox: s3Outbox({ client, bucket: outboxBucket, archiveBuckets }),
  urls: directUrls({ client, archiveBuckets, outboxBucket, urlLifetimeSeconds }),
  now: () => new Date(),
  served: (file: ServedFile) => logger.info('served', { ...file }),
};

/**
 * `GET|HEAD /files/{fileId}[/{name}]`, behind the authorizer, streamed: decrypted on the way, or for a key of the caller. Below it
 * `/header` and `/content`: the two halves of a container. A container is also behind the path of sda-cli's API v1.
 */
export const handler = streamedHandler(directChallenge, (request, invocation) => {
  if (invocation.resource.startsWith('/s3/')) return serveSdaFile(request, endpoint, invocation);
  if (invocation.resource.endsWith('/header')) return serveHeader(request, endpoint);
  if (invocation.resource.endsWith('/content')) return serveContent(request, endpoint);
  return serveFile(request, endpoint, invocation);
});
