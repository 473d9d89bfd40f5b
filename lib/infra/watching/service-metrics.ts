import { type Duration, Stack } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import {
  type BrokenDownMetric,
  breakdowns,
  deploymentDimension,
  metricNamespace,
  metricService,
  type metrics,
} from '../../contract/metrics.ts';

export type ServiceMetric = (typeof metrics)[keyof typeof metrics];

/** What a metric says over each period. */
interface Reading {
  readonly statistic: 'Maximum' | 'Sum' | 'p50' | 'p95';
  readonly period: Duration;
}

/** A metric that the functions of this deployment count. */
export function serviceMetric(scope: Construct, metricName: ServiceMetric, reading: Reading): Metric {
  const dimensionsMap = { service: metricService, [deploymentDimension]: Stack.of(scope).stackName };
  return new Metric({ namespace: metricNamespace, metricName, dimensionsMap, ...reading });
}

/** The same by each value of its breakdown that has occurred. For dashboards: an alarm takes no search. */
export function serviceMetricByValue(scope: Construct, metricName: BrokenDownMetric, period: Duration): IMetric {
  const schema = [metricNamespace, 'service', deploymentDimension, breakdowns[metricName].dimension].join(',');
  const wanted = `{${schema}} MetricName="${metricName}" ${deploymentDimension}="${Stack.of(scope).stackName}"`;
  return new MathExpression({ expression: `SEARCH('${wanted}', 'Sum')`, usingMetrics: {}, label: '', period });
}
