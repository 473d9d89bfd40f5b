/** Long-lived or temporary AWS credentials. */
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
