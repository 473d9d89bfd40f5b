import { SQSClient } from '@aws-sdk/client-sqs';
import type { AwsClientOptions } from '../aws-client-options.ts';

/** Client for SQS. Its three attempts of at most 5 s each fit into the 29 s that API Gateway waits for the proxy. */
export function sqsClient(options: AwsClientOptions = {}): SQSClient {
  return new SQSClient({
    ...options,
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 2000, requestTimeout: 5000, throwOnRequestTimeout: true },
  });
}
