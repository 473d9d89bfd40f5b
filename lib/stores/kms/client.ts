import { KMSClient } from '@aws-sdk/client-kms';
import { type AwsClientOptions, behindApiGateway } from '../aws-client-options.ts';

/** Client for KMS. */
export function kmsClient(options: AwsClientOptions = {}): KMSClient {
  return new KMSClient({ ...options, ...behindApiGateway });
}
