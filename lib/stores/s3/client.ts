import { S3Client } from '@aws-sdk/client-s3';
import type { AwsClientOptions } from '../aws-client-options.ts';

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
