import { RDSDataClient } from '@aws-sdk/client-rds-data';
import type { AwsClientOptions } from '../aws-client-options.ts';

/**
 * Client for the RDS Data API. `DataApi` does all retries, within the caller's time, so the SDK does none: it would
 * not repeat `DatabaseResumingException` (HTTP 400) anyway. A call ends at the server after 45 s; the client waits
 * longer, so that the server's answer is the one that counts.
 */
export function rdsDataClient(options: AwsClientOptions = {}): RDSDataClient {
  return new RDSDataClient({
    ...options,
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 3000, requestTimeout: 60_000, throwOnRequestTimeout: true },
  });
}
