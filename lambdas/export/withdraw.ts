import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context } from 'aws-lambda';
import { environment, type WithdrawalPolicy } from '../../lib/contract/environment.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { type WithdrawalDependencies, withdrawDeprecated } from '../../lib/service/export/withdraw/withdraw.ts';
import { s3Client, sqsClient } from '../../lib/service/stores/clients.ts';
import { s3Outbox } from '../../lib/service/stores/s3/outbox.ts';
import { logger, metrics } from '../shared/observability.ts';
import { required, requiredNumber } from '../shared/runtime.ts';
import { database, deployedDeliveries } from '../shared/wiring.ts';

const pageMs = 60_000;
/** Containers of a run. Without deleting, the same ones are found in every run. */
const mostFound = { report: 1_000, purge: Number.POSITIVE_INFINITY };

/** Run by a schedule: looks for containers of deprecated datasets in the outbox, and deletes them if the settings say so. */
export const handler = withdraw(
  {
    db: database(),
    outbox: s3Outbox({ client: s3Client(), bucket: required(environment.outboxBucket) }),
    deliveries: deployedDeliveries(sqsClient()),
    expiryDays: requiredNumber(environment.outboxExpiryDays),
  },
  required(environment.withdrawal) === 'purge' ? 'purge' : 'report',
);

/** The number of containers that a run leaves is a metric, so that an alarm fires, in both modes. */
export function withdraw(dependencies: WithdrawalDependencies, mode: Exclude<WithdrawalPolicy, 'off'>) {
  return async (_event: unknown, context: Context): Promise<void> => {
    logger.addContext(context);
    const withdrawals = await withdrawDeprecated(dependencies, {
      deletes: mode === 'purge',
      limit: mostFound[mode],
      isOver: () => context.getRemainingTimeInMillis() < pageMs,
    });
    for (const withdrawal of withdrawals) logger.warn('withdrawn dataset in the outbox', { ...withdrawal });
    const left = withdrawals.reduce((sum, { found, removed }) => sum + found - removed, 0);
    metrics.addMetric(names.withdrawnInOutbox, MetricUnit.Count, left);
    const withdrawn = withdrawals.reduce((sum, { removed }) => sum + removed, 0);
    if (withdrawn > 0) metrics.addMetric(names.fileWithdrawn, MetricUnit.Count, withdrawn);
    metrics.publishStoredMetrics();
  };
}
