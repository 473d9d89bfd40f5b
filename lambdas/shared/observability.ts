import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { environment } from '../../lib/contract/environment.ts';
import { deploymentDimension, metricNamespace, metricService } from '../../lib/contract/metrics.ts';
import { required } from './environment.ts';

/** JSON logs. Events, headers and bodies are never logged: they hold visas, passwords and keys. */
export const logger = new Logger({ serviceName: process.env['AWS_LAMBDA_FUNCTION_NAME'] ?? 'data-out' });

/** CloudWatch metrics in EMF, written through stdout. */
export const metrics = new Metrics({
  namespace: metricNamespace,
  serviceName: metricService,
  defaultDimensions: { [deploymentDimension]: required(environment.stackName) },
});
