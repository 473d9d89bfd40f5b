import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { KMSClient } from '@aws-sdk/client-kms';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { RDSDataClient } from '@aws-sdk/client-rds-data';
import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';

interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

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
  readonly credentials?: AwsCredentials;
}

/** For a function that API Gateway waits for: three attempts of at most 5 s each fit into its 29 s. */
export const behindApiGateway = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 2000, requestTimeout: 5000, throwOnRequestTimeout: true },
} as const;

/** For a person who waits: a service that says nothing is given up after three attempts of 10 s. */
export const forOperators = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 5000, requestTimeout: 10_000, throwOnRequestTimeout: true },
} as const;

/** Requests in flight at most. A file has 32 copies under way, and the SDK's default of 50 sockets leaves little beside them. */
const maxSockets = 128;

/**
 * Options of `send` for writes that S3 may answer late: the copy of a large part, the joining of ten thousand parts, a
 * part that is sent over a slow line.
 */
export const patient = { requestTimeout: 600_000 } as const;

/**
 * Client for S3.
 *
 * Checksums: left alone, the SDK adds a CRC-32 to every part it sends, while it starts the multipart upload without naming
 * an algorithm; S3 and its stand-ins do not agree on what that means. So none is sent unless the operation asks for one, as
 * the writes of bodies and containers do.
 *
 * All other calls answer within seconds or are tried again. A silent connection is closed only after the time-out of
 * {@link patient}.
 */
export function s3Client(options: AwsClientOptions = {}): S3Client {
  return new S3Client({
    ...options,
    maxAttempts: 5,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: 5000,
      requestTimeout: 15_000,
      socketTimeout: patient.requestTimeout,
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets, keepAlive: true },
      httpsAgent: { maxSockets, keepAlive: true },
    },
  });
}

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

/** Client for KMS. */
export function kmsClient(options: AwsClientOptions = {}): KMSClient {
  return new KMSClient({ ...options, ...behindApiGateway });
}

/** Client for SQS. */
export function sqsClient(options: AwsClientOptions = {}): SQSClient {
  return new SQSClient({ ...options, ...behindApiGateway });
}

/** Client for EventBridge. Each call is one attempt, with a second to connect and a second to answer. The caller repeats it. */
export function eventBridgeClient(options: AwsClientOptions = {}): EventBridgeClient {
  return new EventBridgeClient({
    ...options,
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 1000, throwOnRequestTimeout: true },
  });
}

/**
 * Client for synchronous invocations. The SDK repeats one that was throttled or lost, so the function must be
 * repeatable.
 */
export function lambdaClient(options: AwsClientOptions = {}): LambdaClient {
  return new LambdaClient({ ...options, requestHandler: { connectionTimeout: 3000 } });
}

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
