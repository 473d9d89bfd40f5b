import { environment } from '../../lib/contract/environment.ts';
import { proxyChallenge } from '../../lib/contract/http.ts';
import { type ListingAccess, listFiles } from '../../lib/service/outbox/list-files.ts';
import { s3Client } from '../../lib/service/stores/clients.ts';
import { s3OutboxReader } from '../../lib/service/stores/s3/outbox-reader.ts';
import { streamedHandler } from '../shared/http.ts';
import { logger } from '../shared/observability.ts';
import { keepMemorySmall, required, requiredNumber } from '../shared/runtime.ts';
import { deployedVisaRules } from '../shared/wiring.ts';

keepMemorySmall('text');

const endpoint = {
  rules: deployedVisaRules(),
  // A listing signs nothing, and the role of this function could not read an object anyway.
  outbox: s3OutboxReader({ client: s3Client(), bucket: required(environment.outboxBucket), urlLifetimeSeconds: 1 }),
  expiryDays: requiredNumber(environment.outboxExpiryDays),
  served: (access: ListingAccess) => logger.info('listed', { ...access }),
};

/** `GET /files?inbox=false`, streamed: neither the size limit of a buffered reply nor memory bounds the listing. */
export const handler = streamedHandler(proxyChallenge, (request) => listFiles(request, endpoint));
