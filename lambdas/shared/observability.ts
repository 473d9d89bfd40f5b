import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { environment } from '../../lib/contract/environment.ts';
import { deploymentDimension, metricNamespace, metricService, metrics as names } from '../../lib/contract/metrics.ts';
import { ArchiveDamagedError } from '../../lib/errors.ts';
import { required } from './runtime.ts';

/** JSON logs. Events, headers and bodies are never logged: they hold visas, passwords and keys. */
export const logger = new Logger({ serviceName: process.env.AWS_LAMBDA_FUNCTION_NAME ?? 'data-out' });

/** CloudWatch metrics in EMF, written through stdout. */
export const metrics = new Metrics({
  namespace: metricNamespace,
  serviceName: metricService,
  defaultDimensions: { [deploymentDimension]: required(environment.stackName) },
});

/** Frames of a stack that a log line carries. */
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
  if (error instanceof ArchiveDamagedError) metrics.singleMetric().addMetric(names.archiveDamaged, MetricUnit.Count, 1);
}
