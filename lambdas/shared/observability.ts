import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { environment } from '../../lib/contract/environment.ts';
import {
  type BrokenDownMetric,
  breakdowns,
  deploymentDimension,
  metricNamespace,
  metricService,
  metrics as names,
  otherValue,
} from '../../lib/contract/metrics.ts';
import { isDamage } from '../../lib/errors.ts';
import { required } from './runtime.ts';

/** JSON logs. Events, headers and bodies are never logged: they hold visas, passwords and keys. */
export const logger = new Logger({ serviceName: process.env.AWS_LAMBDA_FUNCTION_NAME ?? 'data-out' });

/** CloudWatch metrics in EMF, written through stdout. */
export const metrics = new Metrics({
  namespace: metricNamespace,
  serviceName: metricService,
  defaultDimensions: { [deploymentDimension]: required(environment.stackName) },
});

/**
 * Count something in total and by what it was: a reason, a state or a stage. A value that is not in the metric's list counts
 * as `other`.
 *
 * @param times Default: 1. Nothing is counted for 0
 */
export function countBy(name: BrokenDownMetric, value: string, times = 1): void {
  if (times === 0) return;
  const { dimension, values } = breakdowns[name];
  const known: readonly string[] = values;
  metrics
    // A separate metric: its dimension must not spread to the other metrics of the invocation.
    .singleMetric()
    // No more dimensions: the total.
    .addDimensions({})
    .addDimensions({ [dimension]: known.includes(value) ? value : otherValue })
    .addMetric(name, MetricUnit.Count, times);
}

const frames = 5;

/**
 * An error as fields of a log line. They are picked one by one: libraries hang inputs and claims on their errors, and the
 * logger would write them all.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: typeof error };
  const { name, message, cause, stack } = error;
  const at = stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return {
    error: name,
    detail: message,
    ...(cause instanceof Error && { cause: cause.name, causeDetail: cause.message }),
    ...(at.length > 0 && { at: at.slice(0, frames).map((frame) => frame.trim()) }),
  };
}

/** Count an error that says the archive contradicts itself: an alarm watches the metric. Others are not counted. */
export function reportDamage(error: unknown): void {
  if (isDamage(error)) metrics.singleMetric().addMetric(names.archiveDamaged, MetricUnit.Count, 1);
}
