import { LambdaClient } from '@aws-sdk/client-lambda';
import type { AwsClientOptions } from '../aws-client-options.ts';

/** Client for synchronous invocations. The SDK repeats one that was throttled or lost: only call what may be repeated. */
export function lambdaClient(options: AwsClientOptions = {}): LambdaClient {
  return new LambdaClient({ ...options, requestHandler: { connectionTimeout: 3000 } });
}
