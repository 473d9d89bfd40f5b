import { LambdaClient } from '@aws-sdk/client-lambda';
import type { AwsClientOptions } from '../aws-client-options.ts';

/**
 * Client for synchronous invocations. The SDK repeats one that was throttled or lost, so the function must be
 * repeatable.
 */
export function lambdaClient(options: AwsClientOptions = {}): LambdaClient {
  return new LambdaClient({ ...options, requestHandler: { connectionTimeout: 3000 } });
}
