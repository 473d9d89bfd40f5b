import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context } from 'aws-lambda';
import { metrics as names } from '../../lib/contract/metrics.ts';
import type { ConsumeOutcome } from '../../lib/service/export/consume.ts';
import type { Events, OperatorEvent } from '../../lib/service/export/ports.ts';
import type { StageOutcome } from '../../lib/service/export/stage.ts';
import { workingMs } from './deployment.ts';
import { countBy, describeError, logger, metrics } from './observability.ts';
import { exportFields } from './traces.ts';

const patienceMs = 3000;

/**
 * Tell operators what happened to a request. An event that is lost leaves a log line and counts in a metric. The invocation
 * continues as if it had been sent.
 *
 * @param events `undefined` while the setting `events` is off
 */
export async function announce(events: Events | undefined, event: OperatorEvent, context: Context): Promise<void> {
  try {
    await events?.publish(event, Math.min(patienceMs, workingMs(context)));
  } catch (error) {
    metrics.addMetric(names.eventLost, MetricUnit.Count, 1);
    logger.error('event lost', { ...exportFields(event), state: event.state, ...describeError(error) });
  }
}

type Rejection = Extract<ConsumeOutcome | StageOutcome, { readonly outcome: 'rejected' }>;

/** Log line and metric of a rejected request or file. The audit row has been written by then. */
export function reportRejection(
  name: typeof names.exportRejected | typeof names.fileRejected,
  rejection: Rejection,
): void {
  const { reason, detail } = rejection;
  countBy(name, reason);
  const file = 'fileId' in rejection && { fileId: rejection.fileId };
  logger.warn('export rejected', { ...exportFields(rejection), ...file, reason, detail });
}
