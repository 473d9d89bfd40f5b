import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { KMSClient } from '@aws-sdk/client-kms';
import { RDSDataClient } from '@aws-sdk/client-rds-data';
import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';

/**
 * Where the AWS clients of this folder connect. Nothing is needed in a Lambda function: the SDK reads region, role
 * credentials and `AWS_ENDPOINT_URL_*` from the environment. The operator's tool sets them for the local engine.
 */
export interface AwsClientOptions {
  /** @default - from the environment or the shared configuration files */
  readonly region?: string;
  /** @default - AWS, or `AWS_ENDPOINT_URL_*` */
  readonly endpoint?: string;
  /** @default - the SDK's provider chain */
  readonly credentials?: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
}

/** Attempts of a call, and the milliseconds in which each must connect and be answered. */
const attempts = (maxAttempts: number, connectionTimeout: number, requestTimeout: number) => ({
  maxAttempts,
  requestHandler: { connectionTimeout, requestTimeout, throwOnRequestTimeout: true },
});

/** For a function that API Gateway waits for: all attempts fit into its 29 s. */
export const behindApiGateway = attempts(3, 2000, 5000);

/** For an authorizer that can use a value it has read before: both attempts fit into its 10 s. */
export const withinAuthorizer = attempts(2, 1000, 3000);

/** For a person who waits for a service that does not answer. */
export const forOperators = attempts(3, 5000, 10_000);

/** Requests in flight at most. A file has 32 copies under way, and the SDK's default of 50 sockets leaves little beside them. */
const agent = { maxSockets: 128, keepAlive: true };

/**
 * Options of `send` for writes that S3 may answer late: the copy of a large part, the joining of ten thousand parts, a
 * part that is sent over a slow line.
 */
export const patient = { requestTimeout: 600_000 } as const;

/**
 * Client for S3. Its calls answer within seconds or are tried again, except the {@link patient} ones.
 *
 * Checksums: left alone, the SDK adds a CRC-32 to every part it sends, while it starts the multipart upload without naming
 * an algorithm; S3 and its stand-ins do not agree on what that means. So none is sent unless the operation asks for one, as
 * the writes of bodies and containers do.
 */
export function s3Client(options: AwsClientOptions = {}): S3Client {
  const { maxAttempts, requestHandler } = attempts(5, 5000, 15_000);
  return new S3Client({
    ...options,
    maxAttempts,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { ...requestHandler, socketTimeout: patient.requestTimeout, httpAgent: agent, httpsAgent: agent },
  });
}

/**
 * Client for the RDS Data API. `DataApi` does all retries, within the caller's time, so the SDK does none: it would
 * not repeat `DatabaseResumingException` (HTTP 400) anyway. A call ends at the server after 45 s; the client waits
 * longer, so that the server's answer is the one that counts.
 */
export function rdsDataClient(options: AwsClientOptions = {}): RDSDataClient {
  return new RDSDataClient({ ...options, ...attempts(1, 3000, 60_000) });
}

export function kmsClient(options: AwsClientOptions = {}): KMSClient {
  return new KMSClient({ ...options, ...behindApiGateway });
}

export function sqsClient(options: AwsClientOptions = {}): SQSClient {
  return new SQSClient({ ...options, ...behindApiGateway });
}

/** Client for EventBridge. Each call is one attempt; the caller repeats it. */
export function eventBridgeClient(options: AwsClientOptions = {}): EventBridgeClient {
  return new EventBridgeClient({ ...options, ...attempts(1, 1000, 1000) });
}

export function secretsManagerClient(options: AwsClientOptions = {}, limits = behindApiGateway): SecretsManagerClient {
  return new SecretsManagerClient({ ...options, ...limits });
}
