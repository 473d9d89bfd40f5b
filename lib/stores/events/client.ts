import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { AwsClientOptions } from '../aws-client-options.ts';

/** Client for EventBridge. Each call is one attempt, with a second to connect and a second to answer. The caller repeats it. */
export function eventBridgeClient(options: AwsClientOptions = {}): EventBridgeClient {
  return new EventBridgeClient({
    ...options,
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 1000, throwOnRequestTimeout: true },
  });
}
