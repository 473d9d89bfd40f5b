import { ArchiveDamagedError } from '../../errors.ts';
import { errorName, errorStatus } from '../aws-failure.ts';

/** Condition of a write: replace the object with this ETag and no other, or, with `undefined`, replace nothing. */
export function condition(replaces: string | undefined): { IfMatch: string } | { IfNoneMatch: string } {
  return replaces === undefined ? { IfNoneMatch: '*' } : { IfMatch: replaces };
}

/**
 * Whether S3 refused a conditional write because the key holds something else: 412 (another ETag, or an object where
 * there should be none), 409 (a delete at the same moment won), 404 (nothing left to match).
 */
export function isConflict(error: unknown): boolean {
  const status = errorStatus(error);
  const name = errorName(error);
  return status === 412 || name === 'ConditionalRequestConflict' || (status === 404 && name === 'NoSuchKey');
}

/** The damage that S3's refusal of a checksum shows; `undefined` for other errors. */
export function checksumDamage(error: unknown): ArchiveDamagedError | undefined {
  if (errorName(error) !== 'BadDigest') return undefined;
  return new ArchiveDamagedError('the container would not have the CRC-64/NVME that follows from the archived body');
}
