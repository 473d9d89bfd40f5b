import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { type FileAccess, grantDownload } from '../../lib/api/outbox/grant-download.ts';
import { proxyChallenge } from '../../lib/contract/challenges.ts';
import { environment } from '../../lib/contract/environment.ts';
import { resultOf } from '../../lib/http/api-gateway.ts';
import { s3Client } from '../../lib/stores/s3/client.ts';
import { S3OutboxReader } from '../../lib/stores/s3/outbox-reader.ts';
import { answer } from '../shared/http.ts';
import { logger } from '../shared/observability.ts';
import { required, requiredNumber } from '../shared/runtime.ts';
import { deployedVisaRules } from '../shared/wiring.ts';

const endpoint = {
  rules: deployedVisaRules(),
  outbox: new S3OutboxReader({
    client: s3Client(),
    bucket: required(environment.outboxBucket),
    urlLifetimeSeconds: requiredNumber(environment.urlLifetimeSeconds),
  }),
  served: (access: FileAccess) => logger.info('stream granted', { ...access }),
};

/** `GET|HEAD /stream/{file}`: the URL at which S3 serves the file, or its size. No byte of it passes through here. */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  return resultOf(await answer(event, proxyChallenge, (request) => grantDownload(request, endpoint)));
}
