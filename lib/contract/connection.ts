import * as z from 'zod';
import { type OptionalOutput, optionalOutputs, type RequiredOutput, requiredOutputs } from './outputs.ts';

/**
 * Every field is required, except those of the direct API, which an operator may switch off. Unknown fields are allowed, so that
 * a later engine can add some.
 */
const credentials = z.object({ username: z.string().min(1), password: z.string().min(1) });
const output = z.string().min(1);
const optionalOutput = output.optional();

/**
 * `connection.json`: how to reach one running local engine. The engine writes it, readable by its owner only; the
 * operator's tool, the demonstration and the tests read it. Paths are absolute.
 */
export const connection = z.object({
  /** Base URL of the delivery API, without a final slash. */
  proxyUrl: z.url(),
  /** Base URL of the direct API, without a final slash. Absent where the direct API is off. */
  dataOutUrl: z.url().optional(),
  s3Endpoint: z.url(),
  sqsEndpoint: z.url(),
  /** An administrator with the role ADMIN, for `POST /export/{archive_kind}`. */
  admin: credentials,
  /** A user of the central archive, for list and stream. */
  archiveUser: credentials,
  /** The issuer that only this engine trusts. */
  issuer: z.object({ iss: z.string().min(1), jwksPath: z.string().min(1), privateKeyPath: z.string().min(1) }),
  archiveKey: z.object({ publicKeyPath: z.string().min(1) }),
  region: z.string().min(1),
  /** AWS credentials that the embedded engines take from an operator. */
  credentials: z.object({ accessKeyId: z.string().min(1), secretAccessKey: z.string().min(1) }),
  /** Endpoints for the AWS SDK clients of an operator. */
  endpoints: z.object({
    s3: z.url(),
    sqs: z.url(),
    rdsData: z.url(),
    secretsManager: z.url(),
    sts: z.url(),
    cloudFormation: z.url(),
    kms: z.url(),
  }),
  /** Outputs of both stacks, with the values they have on this engine. */
  outputs: z.object({
    ...(Object.fromEntries(requiredOutputs.map((name) => [name, output])) as Record<RequiredOutput, typeof output>),
    ...(Object.fromEntries(optionalOutputs.map((name) => [name, optionalOutput])) as Record<
      OptionalOutput,
      typeof optionalOutput
    >),
  }),
  /** Folder with one log file a function: the JSON lines it wrote. */
  logsDir: z.string().min(1),
});
export type Connection = z.infer<typeof connection>;

/** Code of the answer of an engine whose disk is full. AWS has no such code. */
export const localDiskFull = 'LocalDiskFull';

/** Environment variable that names a connection file. */
export const connectionVariable = 'DATA_OUT_CONNECTION';
/** Default place of the connection file, relative to the working directory. */
export const defaultConnectionFile = '.local/connection.json';
