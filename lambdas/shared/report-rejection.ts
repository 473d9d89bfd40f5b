import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { logger, metrics } from './observability.ts';

export interface Rejection {
  readonly requestId: string;
  readonly fileId?: string;
  readonly reason: string;
  /** What staff may read on top of the reason; holds no token and no key. */
  readonly detail: string;
}

/** Log line and metric of a rejected request; the audit row has been written by then. */
export function reportRejection({ requestId, fileId, reason, detail }: Rejection): void {
  // A metric of its own: the dimension must not spread to what else the invocation counts.
  metrics.singleMetric().addDimension('reason', reason).addMetric(names.exportRejected, MetricUnit.Count, 1);
  logger.warn('export rejected', { requestId, ...(fileId !== undefined && { fileId }), reason, detail });
}
