import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context } from 'aws-lambda';
import type { OperatorEvent } from '../../lib/contract/events.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import type { Events } from '../../lib/service/export/ports.ts';
import { workingMs } from './deployment.ts';
import { countBy, describeError, logger, metrics } from './observability.ts';
import { exportFields } from './traces.ts';

const patienceMs = 3000;

/**
 * Tell operators what became of a request. An event that is lost leaves a log line and counts in a metric. The invocation
 * goes on as if it had been sent.
 *
 * @param events `undefined` while the setting `events` is off
 */
export async function announce(events: Events | undefined, told: OperatorEvent, context: Context): Promise<void> {
  const lost = await events?.publish([told], Math.min(patienceMs, workingMs(context)));
  for (const { event, error } of lost ?? []) {
    metrics.addMetric(names.eventLost, MetricUnit.Count, 1);
    logger.error('event lost', { ...exportFields(event), state: event.state, ...describeError(error) });
  }
}

interface Rejection {
  readonly exportId: string;
  readonly fileId?: string;
  readonly reason: string;
  /** For operators, beside the reason. Holds no token and no key. */
  readonly detail: string;
}

/** Log line and metric of a rejected request or file. The audit row has been written by then. */
export function reportRejection(
  name: typeof names.exportRejected | typeof names.fileRejected,
  rejection: Rejection,
): void {
  const { fileId, reason, detail } = rejection;
  countBy(name, reason);
  const file = fileId !== undefined && { fileId };
  logger.warn('export rejected', { ...exportFields(rejection), ...file, reason, detail });
}
