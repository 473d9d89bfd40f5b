import type { Context } from 'aws-lambda';
import { environment } from '../../lib/contract/environment.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { reconcileDeliveries, reconcileWhileOpen } from '../../lib/service/export/reconcile.ts';
import { fanOuts, unfinishedRequests } from '../../lib/service/ledger/ledger.ts';
import { deleteExpiredRows } from '../../lib/service/ledger/retention.ts';
import { s3Client, sqsClient } from '../../lib/service/stores/clients.ts';
import { deliveriesQueue } from '../../lib/service/stores/queues.ts';
import { s3OutboxRemover } from '../../lib/service/stores/s3/outbox-remover.ts';
import { countBy, logger } from '../shared/observability.ts';
import { optionalNumber, required, requiredNumber } from '../shared/runtime.ts';
import { database } from '../shared/wiring.ts';

const data = database();
const outbox = s3OutboxRemover(s3Client(), required(environment.outboxBucket));
const dependencies = {
  ledger: { ...fanOuts(data, requiredNumber(environment.filesInFlight)), ...unfinishedRequests(data) },
  deliveries: deliveriesQueue({ client: sqsClient(), queueUrl: required(environment.deliveriesQueueUrl) }),
  now: () => new Date(),
};

const hasRetention = optionalNumber(environment.auditRetentionDays) !== undefined;
const deletionMs = 60_000;

/**
 * Run every five minutes, and once a day with `net`: while a request may be open, ends what invocations that died left open, and
 * deletes rows whose time is over. A failure is thrown; the next run does the rest.
 */
export async function handler(event: { readonly net?: boolean }, context: Context): Promise<void> {
  logger.addContext(context);
  await reconcileWhileOpen({ ...dependencies, outbox }, event.net === true, () => run(context));
}

async function run(context: Context): Promise<void> {
  const swept = await reconcileDeliveries(dependencies, () => context.getRemainingTimeInMillis());
  countBy(names.fileGivenUp, 'no_answer', swept.givenUp - swept.expired);
  countBy(names.fileGivenUp, 'expired', swept.expired);
  if (Object.values(swept).some((count) => count > 0)) logger.warn('deliveries swept', { ...swept });
  if (!hasRetention) return;
  let deleted = 0;
  while (context.getRemainingTimeInMillis() > deletionMs) {
    const rows = await deleteExpiredRows(data);
    if (rows === 0) break;
    deleted += rows;
  }
  if (deleted > 0) logger.info('expired rows deleted', { deleted });
}
