import { ForbiddenError } from '../errors.ts';

/** The one answer for a file that is unknown, not released or not granted: which of them it is, is nobody's business. */
export function accessRefused(): ForbiddenError {
  return new ForbiddenError('No visa that was presented gives access to this.');
}
