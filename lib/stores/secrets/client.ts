import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { AwsClientOptions } from '../aws-client-options.ts';

/** Client for Secrets Manager. Its three attempts of at most 5 s each fit into the 29 s that API Gateway waits. */
export function secretsManagerClient(options: AwsClientOptions = {}): SecretsManagerClient {
  return new SecretsManagerClient({
    ...options,
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 2000, requestTimeout: 5000, throwOnRequestTimeout: true },
  });
}

/** As {@link secretsManagerClient}, for a secret whose last value may serve: both attempts fit into an authorizer's 10 s. */
export function impatientSecretsManagerClient(): SecretsManagerClient {
  return new SecretsManagerClient({
    maxAttempts: 2,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 3000, throwOnRequestTimeout: true },
  });
}
