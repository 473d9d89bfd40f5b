import type { Context } from 'aws-lambda';
import { environment } from '../../lib/contract/environment.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { sweepDeliveries } from '../../lib/export/sweep.ts';
import { RdsRetention } from '../../lib/stores/rds/audit/retention.ts';
import { RdsRequestFiles } from '../../lib/stores/rds/exports/request-files.ts';
import { RdsRequests } from '../../lib/stores/rds/exports/requests.ts';
import { RdsSweep } from '../../lib/stores/rds/exports/sweep.ts';
import { sqsClient } from '../../lib/stores/sqs/client.ts';
import { SqsDeliveries } from '../../lib/stores/sqs/deliveries.ts';
import { countBy, logger } from '../shared/observability.ts';
import { optionalNumber, required, requiredNumber } from '../shared/runtime.ts';
import { database } from '../shared/wiring.ts';

const data = database();
const filesInFlight = requiredNumber(environment.filesInFlight);
const dependencies = {
  sweep: new RdsSweep(data),
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
 * Run every five minutes: settles what invocations that died left open, and deletes rows whose time is over. A failure is thrown;
 * the next run does the rest.
 */
export async function handler(_event: unknown, context: Context): Promise<void> {
  logger.addContext(context);
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
