import { S3Client } from '@aws-sdk/client-s3';
import type { AwsClientOptions } from './aws-client-options.ts';

/** Requests that one function keeps in flight at most; the SDK's default of 50 sockets would be enough for 32 copies only. */
const maxSockets = 128;

/**
 * Client for S3.
 *
 * Checksums: since 2025 the SDK adds a CRC-32 to every part it sends, while it starts the multipart upload without
 * naming an algorithm; S3 and its stand-ins do not agree on what that means. So none is sent unless the operation
 * requires one: the request's signature covers the SHA-256 of the bytes, and S3 itself attaches a CRC-64/NVME of the
 * whole object.
 *
 * A server-side copy of a large part may be silent for minutes, so the time limit is five of them.
 */
export function s3Client(options: AwsClientOptions = {}): S3Client {
  return new S3Client({
    ...options,
    maxAttempts: 5,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: 5000,
      requestTimeout: 300_000,
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets, keepAlive: true },
      httpsAgent: { maxSockets, keepAlive: true },
    },
  });
}
