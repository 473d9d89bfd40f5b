import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context } from 'aws-lambda';
import { metrics as names } from '../../lib/contract/metrics.ts';
import type { Events, OperatorEvent } from '../../lib/service/stores/events.ts';
import { workingMs } from './deployment.ts';
import { countBy, describeError, logger, metrics } from './observability.ts';

const patienceMs = 3000;

/** Where events go. `undefined` while the setting `events` is off. */
export type AnnouncedTo = Pick<Events, 'publish'> | undefined;

/**
 * Tell operators what happened to a request. An event that is lost leaves a log line and counts in a metric. The invocation
 * continues as if it had been sent.
 */
export async function announce(events: AnnouncedTo, event: OperatorEvent, context: Context): Promise<void> {
  try {
    await events?.publish(event, Math.min(patienceMs, workingMs(context)));
  } catch (error) {
    metrics.addMetric(names.eventLost, MetricUnit.Count, 1);
    logger.error('event lost', { ...event, ...describeError(error) });
  }
}

/** Log line and metric of a rejected request or file. The audit row has been written by then. */
export function reportRejection(
  name: typeof names.exportRejected | typeof names.fileRejected,
  {
    requestId,
    fileId,
    reason,
    detail,
  }: {
    readonly requestId: string;
    readonly fileId?: string | undefined;
    readonly reason: string;
    readonly detail: string;
  },
): void {
  countBy(name, reason);
  logger.warn('export rejected', { requestId, ...(fileId !== undefined && { fileId }), reason, detail });
}
