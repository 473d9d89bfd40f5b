import { ForbiddenError } from '../errors.ts';

/** The one answer for a file that is unknown, not released or not granted: a caller must not learn which. */
export function accessRefused(): ForbiddenError {
  return new ForbiddenError('No visa that was presented gives access to this.');
}
