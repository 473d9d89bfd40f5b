import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { type AwsClientOptions, behindApiGateway } from '../aws-client-options.ts';

/** Client for Secrets Manager. */
export function secretsManagerClient(options: AwsClientOptions = {}): SecretsManagerClient {
  return new SecretsManagerClient({ ...options, ...behindApiGateway });
}

/**
 * As {@link secretsManagerClient}, for a secret whose last value may be used: both attempts fit into an authorizer's 10
 * s.
 */
export function impatientSecretsManagerClient(): SecretsManagerClient {
  return new SecretsManagerClient({
    maxAttempts: 2,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 3000, throwOnRequestTimeout: true },
  });
}
