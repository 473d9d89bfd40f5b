import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context } from 'aws-lambda';
import { environment, type WithdrawalPolicy } from '../../lib/contract/environment.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { openMarkerKey } from '../../lib/contract/outbox-key.ts';
import { type WithdrawalDependencies, withdrawDeprecated } from '../../lib/service/export/withdraw/reconcile.ts';
import { copyRecords } from '../../lib/service/ledger/copy-records.ts';
import { outboxRecords } from '../../lib/service/ledger/ledger.ts';
import { s3Client } from '../../lib/service/stores/clients.ts';
import { s3OutboxRemover } from '../../lib/service/stores/s3/outbox-remover.ts';
import { logger, metrics } from '../shared/observability.ts';
import { required, requiredNumber } from '../shared/runtime.ts';
import { database } from '../shared/wiring.ts';

const data = database();

const pageMs = 60_000;
/** Containers of a run. Without deleting, the same ones are found in every run. */
const mostFound = { report: 1_000, purge: Number.POSITIVE_INFINITY };

/**
 * Run by a schedule: looks for containers of deprecated datasets in the outbox, and deletes them if the settings say so. A purge
 * lasts nearly until the next run. Where the cluster may sleep, runs with `whileOpen: true` continue it: each removal leaves the sign
 * that a request is open, and while there is one, the cluster is awake in any case. Runs with `whileOpen: false` leave the work to them.
 */
export const handler = withdraw(
  {
    outbox: s3OutboxRemover(s3Client(), required(environment.outboxBucket)),
    ledger: outboxRecords(data, requiredNumber(environment.outboxExpiryDays)),
    copies: copyRecords(data),
  },
  required(environment.withdrawal) === 'purge' ? 'purge' : 'report',
);

/** The number of containers that a run leaves is a metric, so that an alarm fires, in both modes. */
export function withdraw(dependencies: WithdrawalDependencies, mode: Exclude<WithdrawalPolicy, 'off'>) {
  return async (event: { readonly whileOpen?: boolean }, context: Context): Promise<void> => {
    logger.addContext(context);
    if (event.whileOpen !== undefined) {
      const isOpen = (await dependencies.outbox.head(openMarkerKey)) !== undefined;
      if (event.whileOpen !== isOpen) return;
    }
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
