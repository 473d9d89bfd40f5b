import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context } from 'aws-lambda';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { sweep } from '../../lib/service/export/sweep.ts';
import { sqsClient } from '../../lib/service/stores/clients.ts';
import { countBy, describeError, logger, metrics } from '../shared/observability.ts';
import { database, deployedDeliveries, deployedFileQueues } from '../shared/wiring.ts';

const sqs = sqsClient();
const queues = { ...deployedFileQueues(sqs), deliveries: deployedDeliveries(sqs) };
const dependencies = { db: database(), ...queues, now: () => new Date() };

/** Run once a day: ends what no message will end, and deletes rows whose time is over. A failure is thrown; the next run does the rest. */
export async function handler(_event: unknown, context: Context): Promise<void> {
  logger.addContext(context);
  let failures = 0;
  const swept = await sweep(
    dependencies,
    () => context.getRemainingTimeInMillis(),
    (error) => {
      failures += 1;
      logger.error('a step of the sweep failed', describeError(error));
    },
  );
  for (const { reason, files } of swept.givenUp) countBy(names.fileGivenUp, reason, files);
  // Each run counts, so that the alarm ends with the first one that finds none.
  metrics.addMetric(names.deliveryOverdue, MetricUnit.Count, swept.overdue);
  metrics.publishStoredMetrics();
  logger.info('swept', { ...swept });
  if (failures > 0) throw new Error(`${failures} steps of the sweep failed`);
}
