import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { environment } from '../../lib/contract/environment.ts';
import { outboxChallenge } from '../../lib/http/authorization.ts';
import { type ListingAccess, listFiles } from '../../lib/http/files.ts';
import { s3Client } from '../../lib/stores/s3/client.ts';
import { S3OutboxReader } from '../../lib/stores/s3/outbox-reader.ts';
import { describeError } from '../shared/describe-error.ts';
import { required, requiredNumber } from '../shared/environment.ts';
import { answer } from '../shared/http.ts';
import { logger } from '../shared/observability.ts';
import { outboxAccess } from '../shared/outbox-access.ts';

const endpoint = {
  access: outboxAccess(),
  // A listing signs nothing, and the role of this function could not read an object anyway.
  outbox: new S3OutboxReader({ client: s3Client(), bucket: required(environment.outboxBucket), urlLifetimeSeconds: 1 }),
  expiryDays: requiredNumber(environment.outboxExpiryDays),
  served: (access: ListingAccess) => logger.info('listed', { ...access }),
};

/** `GET /files?inbox=false`, streamed: neither the size limit of a buffered reply nor memory bounds the listing. */
export const handler = awslambda.streamifyResponse<APIGatewayProxyEvent>(async (event, responseStream) => {
  const { status, headers, body } = await answer(event, outboxChallenge, (request) => listFiles(request, endpoint));
  const stream = awslambda.HttpResponseStream.from(responseStream, { statusCode: status, headers });
  try {
    // A failing source destroys the stream: the client sees a broken reply, not a listing that ends early.
    await pipeline(Readable.from(body), stream);
  } catch (error) {
    logger.error('reply broke off', { requestId: event.requestContext.requestId, ...describeError(error) });
    throw new Error('the reply broke off');
  }
});
