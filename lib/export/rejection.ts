import type { rejectionReasons } from '../contract/reasons.ts';
import { RequestRejectedError } from '../errors.ts';
import type { VisaErrorCode } from '../visas/index.ts';

/** Why an export request was rejected. The requester does not see these words. */
export type RejectionReason = keyof typeof rejectionReasons | `visa_${VisaErrorCode}`;

/** A {@link RequestRejectedError} with a reason from the one list. `message` names no token, key or visa. */
export function rejection(reason: RejectionReason, message: string): RequestRejectedError {
  return new RequestRejectedError(reason, message);
}
