import { SQSClient } from '@aws-sdk/client-sqs';
import { type AwsClientOptions, behindApiGateway } from '../aws-client-options.ts';

/** Client for SQS. */
export function sqsClient(options: AwsClientOptions = {}): SQSClient {
  return new SQSClient({ ...options, ...behindApiGateway });
}
