import { ForbiddenError } from '../errors.ts';

/** The one answer for what is unknown, not released or not granted: a caller must not learn which. */
export function accessRefused(): ForbiddenError {
  return new ForbiddenError(
    'No visa that was presented gives access to this. Present one for the dataset, once it is released.',
  );
}
