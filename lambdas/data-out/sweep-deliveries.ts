import type { Context } from 'aws-lambda';
import { environment } from '../../lib/contract/environment.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { sweepDeliveries } from '../../lib/export/sweep.ts';
import { sweepWhileOpen } from '../../lib/export/sweep-while-open.ts';
import { RdsRetention } from '../../lib/stores/rds/audit/retention.ts';
import { RdsRequestFiles } from '../../lib/stores/rds/exports/request-files.ts';
import { RdsRequests } from '../../lib/stores/rds/exports/requests.ts';
import { RdsSweep } from '../../lib/stores/rds/exports/sweep.ts';
import { s3Client } from '../../lib/stores/s3/client.ts';
import { S3OutboxRemover } from '../../lib/stores/s3/outbox-remover.ts';
import { sqsClient } from '../../lib/stores/sqs/client.ts';
import { SqsDeliveries } from '../../lib/stores/sqs/deliveries.ts';
import { countBy, logger } from '../shared/observability.ts';
import { optionalNumber, required, requiredNumber } from '../shared/runtime.ts';
import { database } from '../shared/wiring.ts';

const data = database();
const filesInFlight = requiredNumber(environment.filesInFlight);
const sweep = new RdsSweep(data);
const outbox = new S3OutboxRemover({ client: s3Client(), bucket: required(environment.outboxBucket) });
const dependencies = {
  sweep,
  requests: new RdsRequests(data, filesInFlight),
  requestFiles: new RdsRequestFiles(data, filesInFlight),
  deliveries: new SqsDeliveries({ client: sqsClient(), queueUrl: required(environment.deliveriesQueueUrl) }),
  now: () => new Date(),
};

const retention = new RdsRetention(data);
const hasRetention = optionalNumber(environment.auditRetentionDays) !== undefined;
/** Time that a deletion takes at most. */
const deletionMs = 60_000;

/**
 * Run every five minutes, and once a day with `net`: while a request may be open, settles what invocations that died left open, and
 * deletes rows whose time is over. A failure is thrown; the next run does the rest.
 */
export async function handler(event: { readonly net?: boolean }, context: Context): Promise<void> {
  logger.addContext(context);
  const hasUnsettled = () => sweep.hasUnsettled();
  await sweepWhileOpen({ outbox, hasUnsettled, now: dependencies.now }, event.net === true, () => run(context));
}

async function run(context: Context): Promise<void> {
  const swept = await sweepDeliveries(dependencies, () => context.getRemainingTimeInMillis());
  countBy(names.fileGivenUp, 'no_answer', swept.givenUp - swept.expired);
  countBy(names.fileGivenUp, 'expired', swept.expired);
  if (Object.values(swept).some((count) => count > 0)) logger.warn('deliveries swept', { ...swept });
  if (!hasRetention) return;
  let deleted = 0;
  while (context.getRemainingTimeInMillis() > deletionMs) {
    const rows = await retention.deleteExpired();
    if (rows === 0) break;
    deleted += rows;
  }
  if (deleted > 0) logger.info('expired rows deleted', { deleted });
}
