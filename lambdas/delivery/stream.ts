import { environment } from '../../lib/contract/environment.ts';
import { proxyChallenge } from '../../lib/contract/http.ts';
import { type FileAccess, grantDownload } from '../../lib/service/outbox/grant-download.ts';
import { s3Client } from '../../lib/service/stores/clients.ts';
import { s3OutboxReader } from '../../lib/service/stores/s3/outbox-reader.ts';
import { streamedHandler } from '../shared/http.ts';
import { logger } from '../shared/observability.ts';
import { required, requiredNumber } from '../shared/runtime.ts';
import { deployedVisaRules } from '../shared/wiring.ts';

const endpoint = {
  rules: deployedVisaRules(),
  outbox: s3OutboxReader({
    client: s3Client(),
    bucket: required(environment.outboxBucket),
    urlLifetimeSeconds: requiredNumber(environment.urlLifetimeSeconds),
  }),
  served: (access: FileAccess) => logger.info('stream granted', { ...access }),
};

/**
 * `GET|HEAD /stream/{file}`: the URL at which S3 serves the file, or its size. No byte of it passes through here. The reply is
 * streamed, because API Gateway gives a buffered reply to HEAD the length 0.
 */
export const handler = streamedHandler(proxyChallenge, (request) => grantDownload(request, endpoint));
