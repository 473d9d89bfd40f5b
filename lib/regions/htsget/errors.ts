import { DataOutError, type ErrorCode, NotFoundError, UnsupportedFormatError } from '../../errors.ts';
import { RegionsError, UnknownReferenceError } from '../errors.ts';

/** Names of errors in htsget 1.3, by our codes. The standard has none for faults of a server. */
export const htsgetErrorNames: Readonly<Record<ErrorCode | 'internal_error', string>> = {
  invalid_request: 'InvalidInput',
  invalid_range: 'InvalidRange',
  unsupported_format: 'UnsupportedFormat',
  request_too_large: 'PayloadTooLarge',
  reply_too_large: 'PayloadTooLarge',
  unauthenticated: 'InvalidAuthentication',
  forbidden: 'PermissionDenied',
  foreign_origin: 'PermissionDenied',
  request_rejected: 'PermissionDenied',
  not_found: 'NotFound',
  precondition_failed: 'InvalidInput',
  range_not_satisfiable: 'InvalidRange',
  temporarily_unavailable: 'ServiceUnavailable',
  archive_damaged: 'InternalError',
  archive_location_unknown: 'InternalError',
  internal_error: 'InternalError',
};

/** Runs `task`. What is wrong with a file or its index becomes an error of the request for it. */
export async function asCallersError<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw callersError(error);
  }
}

/** A broken file or index is the submitter's: it is given exactly as it was taken. */
export function callersError(error: unknown): unknown {
  if (error instanceof DataOutError || !(error instanceof RegionsError)) return error;
  if (error instanceof UnknownReferenceError) return new NotFoundError(error.message, { cause: error });
  return new UnsupportedFormatError(`The file cannot be cut into regions: ${error.message}`, { cause: error });
}
