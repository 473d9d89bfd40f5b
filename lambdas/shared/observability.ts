import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { metricNamespace } from '../../lib/contract/metrics.ts';

/** JSON logs. Events, headers and bodies are never logged: they hold visas, passwords and keys. */
export const logger = new Logger({ serviceName: process.env['AWS_LAMBDA_FUNCTION_NAME'] ?? 'data-out' });

/** CloudWatch metrics in EMF, written through stdout. */
export const metrics = new Metrics({ namespace: metricNamespace, serviceName: 'data-out' });
