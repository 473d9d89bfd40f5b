import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { ArchiveDamagedError } from '../../lib/errors.ts';
import { metrics } from './observability.ts';

/** Count an error that says the archive contradicts itself: an alarm watches the metric. Others are not counted. */
export function reportDamage(error: unknown): void {
  if (error instanceof ArchiveDamagedError) metrics.singleMetric().addMetric(names.archiveDamaged, MetricUnit.Count, 1);
}
